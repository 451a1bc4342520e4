import type { A2AArtifact } from "@convoke/protocol";
import { oneLine } from "@convoke/protocol/internal";
import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Empty } from "../kit/notices.tsx";
import { VisibleText } from "../kit/visible-text.tsx";
import { navigate } from "../navigation/navigate.tsx";
import type { Route } from "../navigation/route.ts";
import { type AgentSummary, about, findAgent } from "../server/about.ts";
import type { AgentProtocol } from "../server/agent-connection.ts";
import { signIns } from "../server/session.ts";
import { ArtifactPanel } from "./artifact-panel.tsx";
import { ChatSession } from "./chat-session.ts";
import { ConversationList } from "./conversation-list.tsx";
import { ConversationView } from "./conversation-view.tsx";
import { PAGE_TOOLS, switchTools, toolsAreOn } from "./page-tools.ts";

type ChatRoute = Extract<Route, { readonly page: "chat" }>;

/** How the page speaks to agents, for comparing versions and bindings. */
const protocol = signal<AgentProtocol>({});

/** Talk to an agent of the server. A conversation is a context. */
export function ChatPage({ route }: { readonly route: ChatRoute }) {
  const agent = findAgent(route.agent);
  if (about.value === undefined) return <div class="page chat" data-status="loading" />;
  if (agent === undefined) {
    return (
      <div class="page" data-status="ready">
        <Empty title="There is no such agent here" />
      </div>
    );
  }
  return <AgentChat key={agent.id} agent={agent} contextId={route.contextId} />;
}

interface AgentChatProps {
  readonly agent: AgentSummary;
  readonly contextId: string | undefined;
}

function AgentChat({ agent, contextId }: AgentChatProps) {
  const session = useSession(agent, contextId);
  const [opened, setOpened] = useState<A2AArtifact>();
  const [isListOpen, setListOpen] = useState(false);
  useEffect(() => {
    setOpened(undefined);
    setListOpen(false);
  }, [session]);
  const artifact = opened && (currentArtifact(session, opened) ?? opened);
  const status = session.isLoaded.value ? "ready" : "loading";
  return (
    <div
      class="page chat"
      data-status={status}
      data-running={session.isRunning.value}
      data-list={isListOpen ? "open" : "closed"}
      data-panel={artifact === undefined ? "closed" : "open"}
    >
      <div class="chat-side">
        <ConversationList agent={agent} contextId={contextId} />
      </div>
      <div class="chat-main">
        <header class="chat-head">
          <button
            type="button"
            class="button quiet list-button"
            aria-expanded={isListOpen}
            onClick={() => setListOpen(!isListOpen)}
          >
            Conversations
          </button>
          <AgentPicker agent={agent} />
          <ChatSettings session={session} />
        </header>
        <ConversationView session={session} agent={agent} onOpenArtifact={setOpened} />
      </div>
      {artifact && (
        <ArtifactPanel
          artifact={artifact}
          isGrowing={session.isRunning.value}
          onClose={() => setOpened(undefined)}
        />
      )}
    </div>
  );
}

/** One session per conversation. A new conversation stays the same session when it gets its id. */
function useSession(agent: AgentSummary, contextId: string | undefined): ChatSession {
  const [current, setCurrent] = useState<ChatSession>();
  const isSame = current !== undefined && current.contextId === contextId;
  const tools = toolsAreOn.value;
  const settings = JSON.stringify([protocol.value, tools, signIns.value]);
  const session = useMemo(() => {
    if (isSame && current.settings === settings) return current;
    return new ChatSession({
      agent,
      contextId,
      settings,
      protocol: protocol.value,
      tools: tools ? PAGE_TOOLS : [],
      onContext: (given) =>
        navigate({ page: "chat", agent: agent.id, contextId: given }, { replaces: true }),
    });
  }, [isSame, settings, contextId]);
  useEffect(() => {
    setCurrent(session);
    return () => session.close();
  }, [session]);
  return session;
}

/** The artifact as it is now: it may have grown since it was opened. */
function currentArtifact(
  session: ChatSession,
  { artifactId }: A2AArtifact,
): A2AArtifact | undefined {
  for (const { task } of session.turns.value.toReversed()) {
    const found = task?.artifacts?.find((one) => one.artifactId === artifactId);
    if (found !== undefined) return found;
  }
  return undefined;
}

function AgentPicker({ agent }: { readonly agent: AgentSummary }) {
  const agents = about.value!.agents.filter(({ path, isEnabled }) => path && isEnabled);
  if (agents.length < 2) {
    return (
      <h1 class="chat-title">
        <VisibleText text={agent.name} />
      </h1>
    );
  }
  return (
    <h1 class="chat-title">
      <select
        class="input"
        aria-label="Agent"
        value={agent.id}
        onChange={({ currentTarget }) => navigate({ page: "chat", agent: currentTarget.value })}
      >
        {agents.map(({ id, name }) => (
          <option key={id} value={id}>
            {oneLine(name, 60)}
          </option>
        ))}
      </select>
    </h1>
  );
}

const PROTOCOLS: readonly (readonly [string, AgentProtocol])[] = [
  ["As the card prefers", {}],
  ["A2A 1.0, JSON-RPC", { version: "1.0", binding: "jsonrpc" }],
  ["A2A 1.0, REST", { version: "1.0", binding: "rest" }],
  ["A2A 0.3, JSON-RPC", { version: "0.3", binding: "jsonrpc" }],
  ["A2A 0.3, REST", { version: "0.3", binding: "rest" }],
];

const BINDING_NAMES: Readonly<Record<string, string>> = {
  JSONRPC: "JSON-RPC",
  "HTTP+JSON": "REST",
};

function ChatSettings({ session }: { readonly session: ChatSession }) {
  const remote = session.remote.value;
  const selected = PROTOCOLS.findIndex(
    ([, one]) => one.version === protocol.value.version && one.binding === protocol.value.binding,
  );
  return (
    <details class="chat-settings">
      <summary class="button quiet">
        {remote === undefined
          ? "Connecting…"
          : `A2A ${remote.version}, ${BINDING_NAMES[remote.binding] ?? remote.binding}`}
      </summary>
      <div class="chat-settings-box card">
        <label class="field">
          Protocol
          <select
            class="input"
            value={String(selected)}
            onChange={({ currentTarget }) => {
              protocol.value = PROTOCOLS[Number(currentTarget.value)]![1];
            }}
          >
            {PROTOCOLS.map(([name], place) => (
              <option key={name} value={String(place)}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label class="choice small">
          <input
            type="checkbox"
            checked={toolsAreOn.value}
            onChange={({ currentTarget }) => switchTools(currentTarget.checked)}
          />
          Let the agent use tools of this page
        </label>
        <p class="small muted">
          Time, selection, clipboard and file picker. All but the time ask you first.
        </p>
      </div>
    </details>
  );
}
