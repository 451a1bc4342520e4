import type { TaskState } from "@convoke/protocol";
import { oneLine } from "@convoke/protocol/internal";
import type { VNode } from "preact";
import { Icon, type IconName } from "../kit/icon.tsx";
import { Loading, Problem } from "../kit/notices.tsx";
import { RiskBadge } from "../kit/risk-badge.tsx";
import { StateBadge } from "../kit/state-badge.tsx";
import { Ago } from "../kit/time.tsx";
import { Link } from "../navigation/navigate.tsx";
import type { Route } from "../navigation/route.ts";
import { type AgentSummary, about } from "../server/about.ts";
import { type ApprovalRequest, openApprovals } from "../server/approvals.ts";
import { useLive } from "../server/live.ts";
import { useResource } from "../server/resource.ts";
import { type TaskRow, listTasks } from "../server/task-list.ts";

/** Some tasks, and how many there are. */
interface Group {
  readonly rows: readonly TaskRow[];
  /** Such as "3", or "20+" if there are more than were read. */
  readonly count: string;
}

/** The tasks that the page shows. */
interface Overview {
  readonly running: Group;
  readonly waiting: Group;
  readonly failed: Group;
  readonly completed: Group;
}

/** More tasks of a state are not counted: the list of tasks has them. */
const COUNTED = 20;

async function loadOverview(): Promise<Overview> {
  const [running, waiting, failed, completed] = await Promise.all([
    loadGroup(["working", "submitted"]),
    loadGroup(["input-required", "auth-required"]),
    loadGroup(["failed", "rejected"]),
    loadGroup(["completed"]),
  ]);
  return { running, waiting, failed, completed };
}

async function loadGroup(states: readonly TaskState[]): Promise<Group> {
  const pages = await Promise.all(states.map((status) => listTasks({ status }, { size: COUNTED })));
  const rows = pages
    .flatMap(({ tasks }) => tasks)
    .toSorted((one, other) => (one.status.timestamp < other.status.timestamp ? 1 : -1));
  const isAll = pages.every(({ nextPageToken = "" }) => nextPageToken === "");
  return { rows, count: isAll ? String(rows.length) : `${rows.length}+` };
}

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

function Counts({ running, waiting, failed, completed }: Overview) {
  const tasks = (status: string): Route => ({ page: "tasks", filters: { status } });
  return (
    <ul class="home-counts" aria-label="Tasks by state">
      <Count name="Running" count={running.count} kind="info" to={tasks("working")} />
      <Count name="Waiting" count={waiting.count} kind="warn" to={tasks("input-required")} />
      <Count
        name="Approvals"
        count={String(openApprovals.value?.length ?? 0)}
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

function Lists({ waiting, running, failed }: Overview) {
  const approvals = openApprovals.value ?? [];
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
  approvals: readonly ApprovalRequest[],
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

function approvalLine({ id, title, risk, createdAt }: ApprovalRequest) {
  return (
    <li key={id}>
      <Link to={{ page: "approvals" }} class="home-line">
        <span class="home-line-text">{oneLine(title)}</span>
        <RiskBadge risk={risk} />
        <span class="home-line-facts muted small">
          Approval · <Ago at={createdAt} />
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
