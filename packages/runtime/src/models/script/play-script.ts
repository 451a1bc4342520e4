import { setTimeout as delay } from "node:timers/promises";
import { kindOfStatus } from "../ai-sdk/call-error.ts";
import { AnswerStream } from "../../model/answer-stream.ts";
import { ModelError } from "../../model/model-error.ts";
import type { ModelEvent } from "../../model/model.ts";
import { finishOf, inputPieces, inputText, words } from "./script-pieces.ts";
import type { ScriptError, ScriptStep } from "./script-step.ts";

interface PlayOptions {
  readonly steps: () => readonly ScriptStep[];
  /** Delay between words, so that a person can watch. Default: none. */
  readonly wordDelayMs?: number;
  /** Called when the reader stops before the end. */
  readonly left?: () => void;
}

/** Answers from a script. The steps are requested when reading starts. */
export function playScript(
  { steps, wordDelayMs = 0, left }: PlayOptions,
  signal: AbortSignal,
): AsyncIterable<ModelEvent> {
  let hasFailed = false;
  return new AnswerStream({
    signal,
    explain: (error) => {
      hasFailed = true;
      return error;
    },
    translator: new SameEvents(),
    ask: async (abortSignal) => {
      const events = play(steps(), wordDelayMs, abortSignal);
      abortSignal.addEventListener("abort", () => hasFailed || left?.(), { once: true });
      return { read: () => events.next(), cancel: () => events.return(undefined) };
    },
  });
}

class SameEvents {
  isFinished = false;

  translate(part: unknown, events: ModelEvent[]): void {
    const event = part as ModelEvent;
    this.isFinished = event.kind === "finish";
    events.push(event);
  }
}

async function* play(
  steps: readonly ScriptStep[],
  wordDelayMs: number,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent, undefined> {
  for (const step of steps) {
    if (step.kind === "delay") await delay(step.ms, undefined, { signal });
    else if (step.kind === "silence") await aborted(signal);
    else {
      for (const event of eventsOf(step)) {
        if (wordDelayMs > 0) await delay(wordDelayMs, undefined, { signal });
        yield event;
      }
    }
  }
  yield { kind: "finish", ...finishOf(steps) };
}

function* eventsOf(
  step: Exclude<ScriptStep, { kind: "delay" | "silence" }>,
): Generator<ModelEvent, undefined> {
  switch (step.kind) {
    case "text":
      for (const text of words(step.text)) yield { kind: "text", text };
      return;
    case "reasoning":
      for (const text of words(step.text)) yield { kind: "reasoning", text };
      yield { kind: "reasoning-end", ...signed(step.signature) };
      return;
    case "tool-call": {
      const { toolName, input, toolCallId = "call_1", signature } = step;
      const call = { toolCallId, toolName };
      for (const delta of inputPieces(input)) yield { kind: "tool-input", ...call, delta };
      yield { kind: "tool-call", ...call, input: inputText(input), ...signed(signature) };
      return;
    }
    case "source":
    case "file":
      yield step;
      return;
    case "error":
      throw errorOf(step);
    case "cut":
      throw new ModelError("unreachable", "the connection was cut, as the script says");
    case "unfinished":
      throw new ModelError("unreachable", "the answer ends too early, as the script says");
    case "malformed":
      throw new ModelError("unreadable", "the answer makes no sense, as the script says");
    case "finish":
  }
}

function signed(signature: string | undefined): { provider?: { script: { signature: string } } } {
  return signature === undefined ? {} : { provider: { script: { signature } } };
}

function errorOf({ status, code = "", message, retryAfterSeconds }: ScriptError): ModelError {
  const kind = code.includes("context_length") ? "too-long" : kindOfStatus(status);
  return new ModelError(kind, message ?? `the script says ${[status, code].join(" ").trim()}`, {
    retryAfterMs: retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000,
  });
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
