import { oneLine } from "@convoke/protocol/internal";
import { useState } from "preact/hooks";
import { Icon } from "../kit/icon.tsx";
import { Loading, Problem } from "../kit/notices.tsx";
import { Link } from "../navigation/navigate.tsx";
import { type AgentSummary, about, loadAbout } from "../server/about.ts";
import { useResource } from "../server/resource.ts";
import { ask } from "../server/session.ts";
import { AgentBadges } from "./agent-badges.tsx";
import { readCardFile } from "./card-file.ts";
import { CardSections } from "./card-sections.tsx";
import { RawCardPanel } from "./raw-card.tsx";
import { ToolsPanel } from "./tools-panel.tsx";

/** The card of an agent, and its tools. */
export function AgentPage({ agent }: { readonly agent: AgentSummary }) {
  const { id, name, version, isEnabled, remote } = agent;
  const card = useResource(async () => {
    if (!isEnabled) return {};
    return remote?.card ?? readCardFile(id, "1.0");
  }, [id, isEnabled]);
  return (
    <div class="page" data-status={card.status}>
      <div class="page-head">
        <h1>
          {oneLine(name, 80)} <span class="muted small">{oneLine(version, 30)}</span>
        </h1>
        {isEnabled && (
          <Link to={{ page: "chat", agent: id }} class="button primary">
            <Icon name="chat" size={16} /> Say something
          </Link>
        )}
        <Link to={{ page: "tasks", filters: { agent: id } }} class="button">
          <Icon name="tasks" size={16} /> Tasks
        </Link>
        <Switch {...agent} />
      </div>
      <AgentBadges {...agent} />
      {remote && (
        <p class="muted small">
          Forwards its tasks to <span class="mono">{oneLine(remote.url)}</span> by A2A{" "}
          {remote.version} ({remote.binding}). This is the card of the agent there.
        </p>
      )}
      {card.problem && <Problem problem={card.problem} retry={card.reload} />}
      {card.value === undefined && <Loading rows={6} />}
      {isEnabled && card.value && (
        <>
          <CardSections card={card.value} isOwn={remote === undefined} />
          <ToolsPanel agentId={id} />
          <RawCardPanel agent={agent} />
        </>
      )}
    </div>
  );
}

/** Enables or disables an agent, if this visitor may. */
function Switch({ id, isEnabled }: AgentSummary) {
  const [problem, setProblem] = useState<Error>();
  const { features, caller } = about.value ?? {};
  if (features?.agents !== true || caller?.isOperator !== true) return null;
  const change = (): void => {
    setProblem(undefined);
    ask(`/convoke/agents/${encodeURIComponent(id)}:${isEnabled ? "disable" : "enable"}`, {
      method: "POST",
    })
      .then(loadAbout)
      .catch(setProblem);
  };
  return (
    <>
      <button type="button" class={isEnabled ? "button danger" : "button"} onClick={change}>
        {isEnabled ? "Disable" : "Enable"}
      </button>
      {problem && <Problem problem={problem} />}
    </>
  );
}
