import { type Task, isTerminal, textOfParts } from "@convoke/protocol";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { CopyButton } from "../kit/copy-button.tsx";
import { download } from "../kit/download.ts";
import { Icon } from "../kit/icon.tsx";
import { Problem } from "../kit/notices.tsx";
import { StateBadge } from "../kit/state-badge.tsx";
import { Ago, formatCost, formatCount, formatDuration } from "../kit/time.tsx";
import { shortId, visibleLine, visibleText } from "../kit/visible-text.tsx";
import { Link } from "../navigation/navigate.tsx";
import { about } from "../server/about.ts";
import { cancelTask } from "../server/cancel-task.ts";
import { FILE_ID } from "../server/log-file.ts";
import { encodeTask } from "../server/task-log.ts";
import type { LensProps } from "./lens.ts";
import { type Fields, type LogEntry, fieldsOf, isGap, numberField, timeOf } from "./notes.ts";

/** What the task is about, how it is, and what it has used. */
export function TaskHead(props: LensProps) {
  const { log, task, entries, isNow } = props;
  const agent = log.facts.value?.agent ?? "";
  const canCancel = isNow && !isTerminal(task.status.state) && log.taskId !== FILE_ID;
  return (
    <header class="task-head">
      <div class="page-head">
        <h1 class="task-title">{titleOf(task)}</h1>
        <div class="task-actions">
          {log.taskId !== FILE_ID && <ExportButton log={log} />}
          {canCancel && <CancelButton log={log} agent={agent} />}
        </div>
      </div>
      <div class="task-facts small">
        <StateBadge state={task.status.state} />
        {!isNow && <span class="badge past">as it was at event {formatCount(props.seq)}</span>}
        <span class="fact">{visibleText(agent)}</span>
        <Id label="task" id={task.id} />
        <Fact name="context">
          <Link to={{ page: "chat", agent: agentId(agent), contextId: task.contextId }}>
            {shortId(task.contextId)}
          </Link>
          <CopyButton text={task.contextId} label="Copy the context id" />
        </Fact>
        {log.facts.value?.owner !== undefined && (
          <Fact name="owner">{visibleText(log.facts.value.owner)}</Fact>
        )}
        <Times entries={entries} />
        <Usage usage={lastUsage(entries)} />
      </div>
    </header>
  );
}

function titleOf({ history = [] }: Task): string {
  const [first] = history;
  const words = first === undefined ? "" : visibleLine(textOfParts(first.parts), 120);
  return words || "Task without text";
}

/** The id of an agent for addresses. The one at the root needs none. */
function agentId(name: string): string | undefined {
  const agents = about.value?.agents ?? [];
  const agent = agents.find((one) => one.name === name);
  return agent === undefined || agent.isDefault ? undefined : agent.id;
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <span class="fact">
      <span class="muted">{name}</span> {children}
    </span>
  );
}

function Id({ label, id }: { readonly label: string; readonly id: string }) {
  return (
    <Fact name={label}>
      <code title={id}>{shortId(id)}</code>
      <CopyButton text={id} label={`Copy the ${label} id`} />
    </Fact>
  );
}

function Times({ entries }: { readonly entries: readonly LogEntry[] }) {
  const times = entries.flatMap((entry) => (isGap(entry) ? [] : (timeOf(entry) ?? [])));
  const [first] = times;
  const last = times.at(-1);
  if (first === undefined || last === undefined) return null;
  return (
    <>
      <span class="fact">
        <span class="muted">started</span> <Ago at={new Date(first).toISOString()} />
      </span>
      <Fact name="took">{formatDuration(last - first)}</Fact>
    </>
  );
}

/** The usage that the last status with one reports. */
function lastUsage(entries: readonly LogEntry[]): Fields {
  const reports = (entry: LogEntry): Fields =>
    isGap(entry) || entry.event.kind !== "status-update"
      ? {}
      : fieldsOf(fieldsOf(fieldsOf(entry.event)["metadata"])["usage"]);
  const last = entries.findLast((entry) => Object.keys(reports(entry)).length > 0);
  return last === undefined ? {} : reports(last);
}

function Usage({ usage }: { readonly usage: Fields }) {
  const input = numberField(usage, "inputTokens");
  const output = numberField(usage, "outputTokens");
  const cost = numberField(usage, "costUsd");
  return (
    <>
      {input !== undefined && (
        <Fact name="tokens">
          {formatCount(input)} in, {formatCount(output ?? 0)} out
        </Fact>
      )}
      {cost !== undefined && <Fact name="cost">{formatCost(cost)}</Fact>}
    </>
  );
}

/** Saves the whole log in the format of `convoke export`. */
function ExportButton({ log }: Pick<LensProps, "log">) {
  const [problem, setProblem] = useState<Error>();
  const save = (): void => {
    setProblem(undefined);
    const name = `task-${log.taskId.slice(0, 8)}.jsonl`;
    logBlob(log).then((content) => download(name, content), setProblem);
  };
  return (
    <>
      <button type="button" class="button" onClick={save}>
        <Icon name="download" size={15} /> Export
      </button>
      {problem && <Problem problem={problem} />}
    </>
  );
}

/** A line with the task, then a line for each event. */
async function logBlob(log: LensProps["log"]): Promise<Blob> {
  const { taskId } = log;
  const now = log.events.taskAt(log.events.head);
  const pieces = [`${JSON.stringify({ task: now && encodeTask(now) })}\n`];
  for await (const lines of log.lines()) {
    pieces.push(lines.map((line) => `${JSON.stringify({ taskId, ...line })}\n`).join(""));
  }
  return new Blob(pieces, { type: "application/jsonl" });
}

interface CancelButtonProps {
  readonly log: LensProps["log"];
  readonly agent: string;
}

function CancelButton({ log, agent }: CancelButtonProps) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Error>();
  const cancel = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    await cancelTask(log.taskId, agentId(agent)).catch(setProblem);
    setBusy(false);
  };
  return (
    <>
      <button type="button" class="button danger" disabled={isBusy} onClick={() => void cancel()}>
        Cancel
      </button>
      {problem && <Problem problem={problem} />}
    </>
  );
}
