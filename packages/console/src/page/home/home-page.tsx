import { oneLine } from "@convoke/protocol/internal";
import type { VNode } from "preact";
import { Icon, type IconName } from "../kit/icon.tsx";
import { Loading, Problem } from "../kit/notices.tsx";
import { StateBadge } from "../kit/state-badge.tsx";
import { Ago } from "../kit/time.tsx";
import { Link } from "../navigation/navigate.tsx";
import type { Route } from "../navigation/route.ts";
import { type AgentSummary, about } from "../server/about.ts";
import { useLive } from "../server/live.ts";
import { useResource } from "../server/resource.ts";
import type { TaskRow } from "../server/task-list.ts";
import { type Overview, type WaitingApproval, loadOverview } from "./overview.ts";

/** What runs, what waits for a person, what failed, and the agents to talk to. */
export function HomePage() {
  const { value: overview, problem, status, reload } = useResource(loadOverview, []);
  useLive(reload);
  return (
    <div class="page home" data-status={status}>
      <div class="page-head">
        <h1>Home</h1>
      </div>
      {problem && <Problem problem={problem} retry={reload} />}
      {overview ? <Counts {...overview} /> : <Loading rows={2} />}
      <div class="home-columns">
        <div class="home-lists">{overview && <Lists {...overview} />}</div>
        <Agents />
      </div>
    </div>
  );
}

function Counts({ running, waiting, approvals, failed, completed }: Overview) {
  const tasks = (status: string): Route => ({ page: "tasks", filters: { status } });
  return (
    <ul class="home-counts" aria-label="Tasks by state">
      <Count name="Running" count={running.count} kind="info" to={tasks("working")} />
      <Count name="Waiting" count={waiting.count} kind="warn" to={tasks("input-required")} />
      <Count
        name="Approvals"
        count={String(approvals.length)}
        kind="warn"
        to={{ page: "approvals" }}
      />
      <Count name="Failed" count={failed.count} kind="bad" to={tasks("failed")} />
      <Count name="Completed" count={completed.count} kind="good" to={tasks("completed")} />
    </ul>
  );
}

interface CountProps {
  readonly name: string;
  readonly count: string;
  readonly kind: "info" | "warn" | "bad" | "good";
  readonly to: Route;
}

function Count({ name, count, kind, to }: CountProps) {
  return (
    <li>
      <Link to={to} class={`card home-count ${count === "0" ? "" : kind}`}>
        <span class="home-count-name">{name}</span>
        <span class="home-count-value" data-count={name.toLowerCase()}>
          {count}
        </span>
      </Link>
    </li>
  );
}

/** A list shows the newest ones: the page of all tasks has the rest. */
const SHOWN = 6;

function Lists({ approvals, waiting, running, failed }: Overview) {
  return (
    <>
      <Panel
        title="Waiting for you"
        icon="approvals"
        empty="Nothing waits for a person."
        lines={[
          ...approvals.map(approvalLine),
          ...withoutApprovals(waiting.rows, approvals).map(taskLine),
        ]}
      />
      <Panel
        title="Running"
        icon="play"
        empty="No task runs at the moment."
        lines={running.rows.map(taskLine)}
      />
      <Panel
        title="Failed recently"
        icon="warning"
        empty="No task has failed."
        lines={failed.rows.map(taskLine)}
      />
    </>
  );
}

/** Tasks that wait for an approval are shown as the approval. */
function withoutApprovals(
  rows: readonly TaskRow[],
  approvals: readonly WaitingApproval[],
): readonly TaskRow[] {
  const asked = new Set(approvals.map(({ taskId }) => taskId));
  return rows.filter(({ id }) => !asked.has(id));
}

interface PanelProps {
  readonly title: string;
  readonly icon: IconName;
  /** Shown instead of an empty list. */
  readonly empty: string;
  readonly lines: readonly VNode[];
}

function Panel({ title, icon, empty, lines }: PanelProps) {
  return (
    <section class="card home-panel" aria-label={title}>
      <h2 class="home-title">
        <Icon name={icon} size={16} /> {title}
      </h2>
      {lines.length === 0 ? (
        <p class="muted small home-none">{empty}</p>
      ) : (
        <ul class="home-lines">{lines.slice(0, SHOWN)}</ul>
      )}
    </section>
  );
}

function taskLine(row: TaskRow) {
  const { id, firstWords, agent, status } = row;
  return (
    <li key={id}>
      <Link to={{ page: "task", taskId: id, lens: "story" }} class="home-line">
        <span class="home-line-text">{oneLine(firstWords ?? "") || "(no text)"}</span>
        <StateBadge state={status.state} />
        <span class="home-line-facts muted small">
          {oneLine(agent, 40)} · <Ago at={status.timestamp} />
        </span>
      </Link>
    </li>
  );
}

function approvalLine({ id, title, risk, createdAt }: WaitingApproval) {
  return (
    <li key={id}>
      <Link to={{ page: "approvals" }} class="home-line">
        <span class="home-line-text">{oneLine(title)}</span>
        <span class="badge home-approval">Approval</span>
        <span class="home-line-facts muted small">
          {risk !== undefined && `${oneLine(risk, 20)} risk · `}
          <Ago at={createdAt} />
        </span>
      </Link>
    </li>
  );
}

function Agents() {
  const agents = about.value?.agents ?? [];
  return (
    <section class="home-agents" aria-label="Agents">
      <h2 class="home-title">
        <Icon name="agents" size={16} /> Agents
      </h2>
      {agents.map((agent) => (
        <AgentCard key={agent.id} {...agent} />
      ))}
    </section>
  );
}

function AgentCard({ id, name, description, isEnabled, path, running }: AgentSummary) {
  return (
    <article class="card home-agent">
      <h3>
        <Link to={{ page: "agents", agent: id }}>{oneLine(name, 80)}</Link>
      </h3>
      <p class="muted small">{oneLine(description, 240)}</p>
      <div class="home-agent-foot">
        {isEnabled && path !== undefined ? (
          <Link to={{ page: "chat", agent: id }} class="button">
            <Icon name="chat" size={16} /> Say something
          </Link>
        ) : (
          <span class="badge">{isEnabled ? "Not loaded" : "Disabled"}</span>
        )}
        {running !== undefined && running > 0 && <span class="muted small">{running} running</span>}
      </div>
    </article>
  );
}
