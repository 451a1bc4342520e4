import { StateBadge } from "../kit/state-badge.tsx";
import { Ago } from "../kit/time.tsx";
import { VisibleText } from "../kit/visible-text.tsx";
import { Link } from "../navigation/navigate.tsx";
import { useLive } from "../server/live.ts";
import { useResource } from "../server/resource.ts";
import type { AgentSummary } from "../server/about.ts";
import { listTasks } from "../server/task-list.ts";
import { groupByContext } from "./conversations.ts";

interface ConversationListProps {
  readonly agent: AgentSummary;
  readonly contextId: string | undefined;
}

/** The conversations with an agent, the most recent first. */
export function ConversationList({ agent, contextId }: ConversationListProps) {
  const page = useResource(() => listTasks({ agent: agent.id }, { size: 100 }), [agent.id]);
  useLive(page.reload);
  const conversations = groupByContext(page.value?.tasks ?? []);
  return (
    <nav class="conversations" aria-label="Conversations">
      <Link to={{ page: "chat", agent: agent.id }} class="button new-chat">
        New conversation
      </Link>
      <ul class="conversation-list">
        {conversations.map((one) => (
          <li key={one.contextId}>
            <Link
              to={{ page: "chat", agent: agent.id, contextId: one.contextId }}
              class="conversation"
              aria-current={one.contextId === contextId ? "true" : undefined}
            >
              <span class="conversation-title">
                <VisibleText text={one.title} />
              </span>
              <span class="conversation-foot">
                <Ago at={one.changedAt} />
                {one.state !== "completed" && <StateBadge state={one.state} />}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
