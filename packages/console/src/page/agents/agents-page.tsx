import { oneLine } from "@convoke/protocol/internal";
import { Empty, Loading } from "../kit/notices.tsx";
import { Link } from "../navigation/navigate.tsx";
import type { Route } from "../navigation/route.ts";
import { type AgentSummary, about, findAgent } from "../server/about.ts";
import { AgentBadges } from "./agent-badges.tsx";
import { AgentPage } from "./agent-page.tsx";

type Props = { readonly route: Extract<Route, { readonly page: "agents" }> };

/** The agents of the server, or one of them. */
export function AgentsPage({ route: { agent: id } }: Props) {
  const { agents } = about.value ?? {};
  if (agents === undefined) return <Loading />;
  const agent = id === undefined ? undefined : findAgent(id);
  if (agent !== undefined) return <AgentPage key={id} agent={agent} />;
  return (
    <div class="page" data-status="ready">
      <div class="page-head">
        <h1>Agents</h1>
      </div>
      {id !== undefined && <Empty title={`There is no agent ${oneLine(id, 60)}`} />}
      <ul class="agent-list">
        {agents.map((each) => (
          <li key={each.id}>
            <AgentLine {...each} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function AgentLine({ id, name, description, version, ...agent }: AgentSummary) {
  return (
    <article class="card agent-line">
      <h2>
        <Link to={{ page: "agents", agent: id }}>{oneLine(name, 80)}</Link>{" "}
        <span class="muted small">{oneLine(version, 30)}</span>
      </h2>
      <p class="muted small">{oneLine(description, 240)}</p>
      <AgentBadges {...agent} />
    </article>
  );
}
