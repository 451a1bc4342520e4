import { type InternalEvent, type Message, type Task, isTerminal, textOf } from "@convoke/protocol";
import type { StoredTask } from "../harness/stored-tasks.ts";
import { foldLog } from "../harness/task-log.ts";
import type { KillDriver } from "./kill-driver.ts";
import { type IsRejected, wordsFor } from "./kill-plan.ts";
import type { Note } from "./notes.ts";

/** What one agent has stored. */
export interface Left {
  readonly name: string;
  readonly stored: readonly StoredTask[];
  readonly notes: readonly Note[];
}

/** A client and what it wanted. */
type Driver = Pick<KillDriver, "plan" | "caller">;

/** What is wrong with the stored data of a tree, as sentences. */
export function problemsOf(
  drivers: readonly Driver[],
  agents: readonly Left[],
  isRejected?: IsRejected,
): readonly string[] {
  const pairs = agents.slice(1).map((callee, place) => [agents[place]!, callee] as const);
  return [
    ...drivers.flatMap((driver) => problemsOfRoot(driver, agents[0]!, isRejected)),
    ...agents.flatMap((agent) => problemsOfStates(agent)),
    ...pairs.flatMap(([caller, callee]) => problemsOfCalls(caller, callee)),
    ...problemsOfEffects(agents),
  ];
}

function problemsOfRoot(
  { plan, caller }: Driver,
  { stored }: Left,
  isRejected: IsRejected | undefined,
): readonly string[] {
  const { work, cancelAfterMs } = plan;
  const found = stored.find(({ record }) => record.taskId === caller.taskId);
  if (found === undefined) return [`${work.id} is lost`];
  const task = taskOf(found);
  const { state } = task.status;
  if (cancelAfterMs !== undefined && state === "canceled") return [];
  if (state !== "completed") return [`${work.id} is ${state}`];
  const words = wordsFor("root", work, isRejected);
  return words.test(textOf(task)) ? [] : [`${work.id} says ${textOf(task)}`];
}

/** No agent works for an ended task. */
function problemsOfStates({ name, stored }: Left): readonly string[] {
  return stored
    .map(taskOf)
    .filter(({ status }) => !isTerminal(status.state))
    .map(({ id, status }) => `${name} is left with task ${id}, which is ${status.state}`);
}

/** Each call has one task, and each task one call. */
function problemsOfCalls(caller: Left, callee: Left): readonly string[] {
  const calls = caller.stored.flatMap((stored) => callsOf(stored));
  const children = callee.stored.map((stored) => firstMessage(stored));
  const claimed = new Set(calls.flatMap(({ children: named }) => named));
  return [
    ...calls
      .filter(({ sent, children: named }) => sent !== 1 || named.length > 1)
      .map(({ call, sent, children: named }) => `${call} was sent ${sent} times: ${named.join()}`),
    ...calls
      .filter(({ children: named, isCompleted }) => isCompleted && named.length !== 1)
      .map(({ call }) => `${call} has no task`),
    ...repeated(children.map(({ messageId }) => messageId)).map(
      (messageId) => `${callee.name} has several tasks of message ${messageId}`,
    ),
    ...callee.stored
      .filter((stored) => !claimed.has(stored.record.taskId) && !isOver(stored, caller))
      .map(({ record }) => `${callee.name} has task ${record.taskId}, which no caller knows`),
  ];
}

interface NotedCall {
  readonly call: string;
  /** How often its start is recorded. */
  readonly sent: number;
  readonly children: readonly string[];
  readonly isCompleted: boolean;
}

function callsOf(stored: StoredTask): readonly NotedCall[] {
  const { log, record } = stored;
  const notes = log.map(({ event }) => event as InternalEvent);
  const ofKind = (kind: string): Map<string, InternalEvent[]> =>
    Map.groupBy(
      notes.filter((note) => note.kind === kind),
      ({ toolCallId }) => String(toolCallId),
    );
  const begun = ofKind("internal:sub-agent");
  const isCompleted = taskOf(stored).status.state === "completed";
  return Array.from(ofKind("internal:sub-agent-call"), ([toolCallId, sent]) => ({
    call: `call ${toolCallId} of ${record.taskId}`,
    sent: sent.length,
    children: (begun.get(toolCallId) ?? []).map(({ childTaskId }) => String(childTaskId)),
    isCompleted,
  }));
}

/** A task of a canceled caller may not have been notified; it has ended anyway. */
function isOver(stored: StoredTask, caller: Left): boolean {
  const [parentId] = firstMessage(stored).messageId.split(":");
  const parent = caller.stored.find(({ record }) => record.taskId === parentId);
  return parent !== undefined && taskOf(parent).status.state === "canceled";
}

/** Effects that must not be repeated were not; the others have one key, in one task. */
function problemsOfEffects(agents: readonly Left[]): readonly string[] {
  const runs = agents.flatMap(({ notes }) => notes.filter(({ what }) => what === "tool"));
  const byPath = Map.groupBy(runs, ({ name, input }) => `${name} ${JSON.stringify(input)}`);
  return [...byPath].flatMap(([what, same]) => {
    const keys = new Set(same.map(({ key, taskId }) => `${taskId} ${key}`));
    if (keys.size > 1) return [`${what} was done by ${[...keys].join(" and ")}`];
    const isOnce = !what.startsWith("read");
    return isOnce && same.length > 1 ? [`${what} was done ${same.length} times`] : [];
  });
}

function taskOf({ log }: StoredTask): Task {
  return foldLog(log);
}

function firstMessage({ log }: StoredTask): Message {
  return (log[0]!.event as Task).history![0]!;
}

function repeated(values: readonly string[]): readonly string[] {
  return values.filter((value, place) => values.indexOf(value) !== place);
}
