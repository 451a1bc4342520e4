import { isDeepStrictEqual } from "node:util";
import { type AgentEvent, type StatusUpdateEvent, isTerminal, textOf } from "@convoke/protocol";
import type { Effect } from "../harness/effect.ts";
import type { StoredTask } from "../harness/stored-tasks.ts";
import { chunksIn, foldLog, shownIn } from "../harness/task-log.ts";
import type { Client } from "./client.ts";
import { CHUNKS, chunkOf } from "./jobs.ts";

/** The journal events from which a function resumes after a crash. */
const JOURNAL: ReadonlySet<string> = new Set([
  "internal:step-start",
  "internal:ask",
  "internal:sleep",
]);

/**
 * Everything that is wrong with a task at the end, as sentences; empty if it kept every guarantee.
 */
export function problemsOf(
  client: Client,
  stored: StoredTask | undefined,
  effects: readonly Effect[],
): readonly string[] {
  if (stored === undefined) return ["the task is lost"];
  return [
    ...problemsOfStored(client, stored),
    ...problemsOfFrames(client, stored),
    ...problemsOfEffects(effects),
    ...problemsOfWords(client, stored, effects),
  ];
}

/** The same without what the client has read and what the agent has done. */
export function problemsOfStored(client: Client, stored: StoredTask): readonly string[] {
  return [...problemsOfLog(stored), ...problemsOfEnd(client, stored), ...problemsOfChunks(stored)];
}

/** What is wrong with the log of a task that should have ended. */
export function problemsOfLog({ record, log }: StoredTask): readonly string[] {
  const problems: string[] = [];
  if (!log.every(({ id }, index) => id === index + 1)) problems.push("the log has a gap");
  if (record.head !== log.length) problems.push("the index has another head than the log");
  if (!isTerminal(record.state)) problems.push(`the task is still ${record.state}`);
  const ends = log.filter(({ event }) => isTerminal(stateOf(event) ?? "working"));
  if (ends.length !== 1) problems.push(`the log has ${ends.length} ends`);
  if (ends[0] !== log.at(-1)) problems.push("something follows the end");
  return problems;
}

/** Every job ends in its own way, unless a crash came before it had a journal. */
function problemsOfEnd(
  { job, accepted, refusals }: Client,
  { record, log }: StoredTask,
): readonly string[] {
  const kinds = log.map(({ event }) => event.kind);
  if (isInterrupted(log.at(-1)?.event)) {
    return kinds.some((kind) => JOURNAL.has(kind)) ? ["it had a journal, but was failed"] : [];
  }
  const problems: string[] = [];
  const wanted = job.kind === "cancel" ? "canceled" : "completed";
  if (record.state !== wanted) problems.push(`it is ${record.state} instead of ${wanted}`);
  const asked = kinds.filter((kind) => kind === "internal:ask").length;
  const answered = kinds.filter((kind) => kind === "internal:message").length;
  if (asked !== accepted.length || answered !== accepted.length) {
    const answers = `${answered} answers; accepted: ${accepted.join()}; ${refusals.join()}`;
    problems.push(`${asked} questions in the log, and ${answers}`);
  }
  return problems;
}

/** Output that is repeated after a crash is not written again, also if the task restarted from the top. */
function problemsOfChunks({ log }: StoredTask): readonly string[] {
  const chunks = chunksIn(log.map(({ event }) => event));
  const repeated = chunks.length - new Set(chunks).size;
  return repeated === 0 ? [] : [`${repeated} chunks were written twice`];
}

/** The events of all connections, concatenated, equal the log. */
export function problemsOfFrames(
  { caller }: Pick<Client, "caller">,
  { log }: StoredTask,
): readonly string[] {
  const shown = shownIn(log);
  if (isDeepStrictEqual(caller.frames, shown)) return [];
  const ids = caller.frames.map(({ id }) => id).join(" ");
  return [`the client has the frames ${ids}, and the log has ${shown.length}`];
}

/**
 * A repeatable effect has one key regardless of how often it was tried; every other effect happened
 * once.
 */
function problemsOfEffects(effects: readonly Effect[]): readonly string[] {
  return [...Map.groupBy(effects, ({ name }) => name)].flatMap(([name, same]) => {
    const keys = new Set(same.map(({ key }) => key));
    if (keys.size > 1) return [`${name} has ${keys.size} keys`];
    const isKeyed = !keys.has(undefined);
    return isKeyed || same.length === 1 ? [] : [`${name} was done ${same.length} times`];
  });
}

/** The agent's output equals that of one run without a crash, and matches the effects. */
function problemsOfWords(
  { job, accepted }: Client,
  { record, log }: StoredTask,
  effects: readonly Effect[],
): readonly string[] {
  const task = foldLog(log);
  const text = task.artifacts === undefined ? "" : textOf(task);
  const done = new Set(effects.map(({ name }) => name));
  const isWhole = record.state === "completed";
  const rounds = job.kind === "plain" ? 1 : [...done].filter((name) => PAY.test(name)).length;
  if (job.kind === "plain" || job.kind === "stream") {
    const whole = Array.from({ length: rounds }, (_, index) => roundOf(index + 1)).join("");
    const isRight = isWhole ? text === whole : whole.startsWith(text);
    return isRight ? [] : [`after ${rounds} rounds it has said ${text}`];
  }
  const told = [...text.matchAll(/(\d+) (\w+); /g)];
  const lies = told.filter(
    ([, round, became]) => became === "shipped" && !done.has(`ship ${round}`),
  );
  const isInOrder = told.every(([, round], index) => Number(round) === index + 1);
  const isRight = isInOrder && (isWhole ? told.length === rounds : told.length <= rounds);
  return [
    ...lies.map(([, round]) => `ship ${round} was told and not done`),
    ...(isRight ? [] : [`after ${rounds} rounds it has said ${text}`]),
    ...(isWhole && !text.endsWith(job.kind === "ask" ? `; ${accepted[0]}!` : "; ")
      ? [`the answer is missing in ${text}`]
      : []),
  ];
}

const PAY = /^pay /;

function roundOf(round: number): string {
  return Array.from({ length: CHUNKS }, (_, place) => chunkOf(round, place)).join("");
}

function stateOf(event: AgentEvent): StatusUpdateEvent["status"]["state"] | undefined {
  return event.kind === "status-update" ? (event as StatusUpdateEvent).status.state : undefined;
}

function isInterrupted(event: AgentEvent | undefined): boolean {
  return (event as StatusUpdateEvent | undefined)?.metadata?.["reason"] === "interrupted";
}
