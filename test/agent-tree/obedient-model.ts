import { textOfParts } from "@convoke/protocol";
import type { Model, ModelRequest, TranscriptEntry } from "@convoke/runtime";
import { type ScriptStep, scriptedModel } from "@convoke/runtime/testing";
import type { Notes } from "./notes.ts";
import { type Wanted, type Work, messageFor } from "./work.ts";

/** The cost of each answer, so that sums can be checked. */
export const TOKENS_OF_ANSWER = 107;
const USAGE = { inputTokens: 100, outputTokens: 7 };

/**
 * A model that does the work that its message describes, and then repeats the results. Its output
 * is a function of its input: every process gives the same.
 */
export function obedientModel(name: string, notes: Notes): Model {
  return {
    id: "obedient",
    stream: (request, signal) => {
      const { work, since } = subjectOf(request);
      notes.add({ what: "model", work: work.id });
      if (work.isSilent === true) {
        signal.addEventListener("abort", () => notes.add({ what: "stopped", work: work.id }));
      }
      return scriptedModel([obey(name, work, progressIn(since))]).stream(request, signal);
    },
  };
}

interface Subject {
  readonly work: Work;
  /** What was said since. */
  readonly since: readonly TranscriptEntry[];
}

/** The last message: a conversation may have others before it. */
function subjectOf({ transcript }: ModelRequest): Subject {
  const place = transcript.findLastIndex(({ role }) => role === "user");
  const asked = transcript[place];
  // Concurrent messages of others come before it.
  const text = asked?.role === "user" ? textOfParts(asked.parts.slice(-1)) : "";
  return { work: JSON.parse(text) as Work, since: transcript.slice(place + 1) };
}

function progressIn(since: readonly TranscriptEntry[]): Progress {
  const answers = since.filter(({ role }) => role === "assistant").length;
  const heard = since.flatMap((entry) =>
    entry.role === "tool" ? entry.results.map(({ output }) => wordsOf(output)) : [],
  );
  return { answers, heard };
}

/** How far a model is with its work. */
export interface Progress {
  /** How often it has answered. */
  readonly answers: number;
  /** The results of the calls that it made. */
  readonly heard: readonly string[];
}

/** The next answer of a model that does its work. */
export function obey(
  name: string,
  work: Work,
  { answers, heard }: Progress,
): readonly ScriptStep[] {
  const { rounds, pauseMs = 0, isSilent = false } = work;
  if (isSilent) return [{ kind: "silence" }];
  const wanted = rounds[answers];
  const pause: ScriptStep = { kind: "delay", ms: pauseMs };
  const finish: ScriptStep = { kind: "finish", usage: USAGE };
  if (wanted === undefined) {
    return [pause, { kind: "text", text: `${name} heard: ${heard.join(", ")}` }, finish];
  }
  const calls = wanted.map((one, place) => callOf(one, work, `${answers + 1}-${place + 1}`));
  const reason = { reason: "tool-calls" } as const;
  return [pause, ...calls, { ...finish, ...reason }];
}

function callOf(wanted: Wanted, own: Work, toolCallId: string): ScriptStep {
  if ("tool" in wanted) {
    return { kind: "tool-call", toolCallId, toolName: wanted.tool, input: wanted.input };
  }
  const { agent, work } = wanted;
  const input = { message: messageFor(work === "the same" ? own : work) };
  return { kind: "tool-call", toolCallId, toolName: agent, input };
}

/** The output of a tool; for a sub-agent's answer, its text. */
export function wordsOf(output: unknown): string {
  if (typeof output === "string") return output;
  const { artifacts = [] } = output as {
    readonly artifacts?: readonly { readonly text: string }[];
  };
  return artifacts.map(({ text }) => text).join("");
}
