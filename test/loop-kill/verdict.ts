import { isDeepStrictEqual } from "node:util";
import { type InternalEvent, isPublic, textOf } from "@convoke/protocol";
import type { Effect } from "../harness/effect.ts";
import type { AskedOfModel } from "../crash/tale.ts";
import { foldLog, shownIn } from "../harness/task-log.ts";
import type { Played } from "./play.ts";

/** What is compared of a killed run: the last request to the model, and the result of the task. */
interface Ending {
  readonly state: string | undefined;
  readonly text: string;
  readonly transcript: readonly unknown[];
}

/** What the model receives for a call that may not run again, if a crash interrupted it. */
const UNKNOWN =
  /Unknown: a crash cut this call; it may or may not have done its work\. Check before you repeat it\./g;

/** What is wrong with a killed run compared to the same run without kills, as sentences. */
export function problemsOf(killed: Played, quiet: Played, kills: number): readonly string[] {
  if (killed.stored === undefined) return ["the task is lost"];
  return [
    ...problemsOfEnding(killed, quiet),
    ...problemsOfLog(killed),
    ...problemsOfRequests(killed, kills),
    ...problemsOfEffects(killed),
    ...problemsOfFrames(killed),
  ];
}

/**
 * The same output and the same transcript. Only the unknown outcome of an interrupted call may
 * differ.
 */
function problemsOfEnding(killed: Played, quiet: Played): readonly string[] {
  const [found, wanted] = [endingOf(killed), endingOf(quiet)];
  if (isDeepStrictEqual(found, wanted)) return [];
  return [`it came to ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`];
}

function endingOf({ stored, requests }: Played): Ending {
  const task = stored && foldLog(stored.log);
  const last = requests.reduce<AskedOfModel | undefined>(
    (longest, one) => (one.answers >= (longest?.answers ?? 0) ? one : longest),
    undefined,
  );
  const known = (text: string): string => text.replace(UNKNOWN, "shipped");
  return {
    state: task?.status.state,
    text: known(task === undefined ? "" : textOf(task)),
    transcript: JSON.parse(known(JSON.stringify(last?.messages ?? []))) as readonly unknown[],
  };
}

/**
 * Nothing happens after its end: no request after its answer is recorded, no start after its
 * result.
 */
function problemsOfLog({ stored }: Played): readonly string[] {
  const { record, log } = stored!;
  const notes = log.map(({ event }) => event).filter((event) => !isPublic(event));
  const problems: string[] = [];
  if (!log.every(({ id }, index) => id === index + 1)) problems.push("the log has a gap");
  if (record.head !== log.length) problems.push("the index has another head than the log");
  const ended = new Set<string>();
  for (const note of notes as readonly InternalEvent[]) {
    const { kind, iteration, toolCallId } = note;
    const call = String(toolCallId);
    const name = BEGINNINGS[kind] ?? ENDS[kind];
    const key = `${name} ${name === "tool" ? call : String(iteration)}`;
    if (name === undefined) continue;
    if (ended.has(key)) problems.push(`${kind} of ${key} after its end`);
    if (kind in ENDS) ended.add(key);
  }
  return problems;
}

const BEGINNINGS: Readonly<Record<string, string>> = {
  "internal:llm-call": "model",
  "internal:tool-start": "tool",
};
const ENDS: Readonly<Record<string, string>> = {
  "internal:llm-result": "model",
  "internal:tool-complete": "tool",
};

/**
 * Only a process that died can have made a request without a record on disk, or recorded one
 * without making it.
 */
function problemsOfRequests({ stored, requests }: Played, kills: number): readonly string[] {
  const noted = stored!.log.filter(({ event }) => event.kind === "internal:llm-call").length;
  if (Math.abs(requests.length - noted) <= kills) return [];
  return [`${noted} requests are noted, and ${requests.length} were made`];
}

/**
 * Repeatable calls have one key; the others ran once, or at most once if the model was informed.
 */
function problemsOfEffects({ tale, stored, effects }: Played): readonly string[] {
  const byName = Map.groupBy(effects, ({ name }) => name);
  const outputs = new Map(
    stored!.log
      .filter(({ event }) => event.kind === "internal:tool-complete")
      .map(({ event }) => event as InternalEvent)
      .map(({ toolCallId, output }) => [String(toolCallId), String(output)]),
  );
  if (outputs.size !== tale.calls.flat().length) return [`${outputs.size} calls have a result`];
  return [...outputs].flatMap(([name, output]) =>
    problemsOfCall(name, output, byName.get(name) ?? []),
  );
}

function problemsOfCall(name: string, output: string, same: readonly Effect[]): readonly string[] {
  const keys = new Set(same.map(({ key }) => key));
  if (keys.size > 1) return [`${name} has ${keys.size} keys`];
  if (!name.startsWith("ship")) return same.length === 0 ? [`${name} was not done`] : [];
  const wanted = output === "shipped" ? [1] : [0, 1];
  return wanted.includes(same.length) ? [] : [`${name} was done ${same.length} times: ${output}`];
}

/** The events of all connections, concatenated, equal the log. */
function problemsOfFrames({ caller, stored }: Played): readonly string[] {
  const shown = shownIn(stored!.log);
  if (isDeepStrictEqual(caller.frames, shown)) return [];
  return [`the client has ${caller.frames.length} frames and the log ${shown.length}`];
}
