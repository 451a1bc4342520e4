import type { Model, ModelRequest } from "convoke";
import { type ScriptStep, type ScriptTurn, scriptedModel } from "convoke/testing";

/** What has happened since the last message of the user. */
export interface Progress {
  /** The text of that message. */
  readonly text: string;
  /** The result of each tool that was called, by its name. If it was called again, the last one. */
  readonly results: ReadonlyMap<string, unknown>;
}

/**
 * A model without AI, so that an example can be tried without a key: `next` chooses each answer by
 * what has happened so far. A real model makes that choice itself.
 */
export function standIn(next: (progress: Progress) => ScriptTurn): Model {
  return {
    id: "stand-in",
    stream: (request, signal) =>
      scriptedModel([withIds(next(progressOf(request)), request)]).stream(request, signal),
  };
}

/** A result as text, if there is one. */
export function resultText(result: unknown): string | undefined {
  return result === undefined || typeof result === "string" ? result : JSON.stringify(result);
}

function progressOf({ transcript }: ModelRequest): Progress {
  const start = transcript.findLastIndex(({ role }) => role === "user");
  const [message, ...later] = transcript.slice(start);
  const parts = message?.role === "user" ? message.parts : [];
  const results = later.flatMap((entry) => (entry.role === "tool" ? entry.results : []));
  return {
    text: parts.map((part) => (part.kind === "text" ? part.text : "")).join(""),
    results: new Map(results.map(({ toolName, output }) => [toolName, output])),
  };
}

/** Call ids are unique in a conversation, also after a restart. */
function withIds(turn: ScriptTurn, { transcript }: ModelRequest): ScriptTurn {
  if (typeof turn === "string") return turn;
  return [turn]
    .flat()
    .map((step: ScriptStep, place) =>
      step.kind === "tool-call"
        ? { ...step, toolCallId: `call_${transcript.length}_${place}` }
        : step,
    );
}
