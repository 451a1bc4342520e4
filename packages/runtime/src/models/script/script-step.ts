import type { FinishReason, ModelUsage } from "../../model/model.ts";

/** One thing that a model does by a script rather than by thinking. */
export type ScriptStep =
  /** Said word by word. */
  | { readonly kind: "text"; readonly text: string }
  | {
      readonly kind: "reasoning";
      readonly text: string;
      /** What the provider wants back with the next request. */
      readonly signature?: string;
    }
  | {
      readonly kind: "tool-call";
      readonly toolName: string;
      /** Arguments; a string is taken as the JSON text itself, so that it can be broken. */
      readonly input: unknown;
      /** By default `call_1`, `call_2`, … through the whole script. */
      readonly toolCallId?: string;
      readonly signature?: string;
    }
  | { readonly kind: "source"; readonly url: string; readonly title?: string }
  /** `bytes` is base64. */
  | { readonly kind: "file"; readonly mediaType: string; readonly bytes: string }
  | { readonly kind: "delay"; readonly ms: number }
  /** Says nothing more, and does not end. */
  | { readonly kind: "silence" }
  | ScriptError
  /** The connection breaks. */
  | { readonly kind: "cut" }
  /** The answer ends, and never says that it is complete. */
  | { readonly kind: "unfinished" }
  /** Something that cannot be parsed. */
  | { readonly kind: "malformed" }
  /** How the answer ends. Needed only to say something else than what follows from the rest. */
  | { readonly kind: "finish"; readonly reason?: FinishReason; readonly usage?: ModelUsage };

/** The provider refuses. As the first step it is the status of the response, later an error in mid-answer. */
export interface ScriptError {
  readonly kind: "error";
  readonly status: number;
  readonly retryAfterSeconds?: number;
  /** The provider's code, such as `context_length_exceeded`. */
  readonly code?: string;
  readonly message?: string;
}

/** A whole answer: its text, one step, or several. */
export type ScriptTurn = string | ScriptStep | readonly ScriptStep[];

/** The steps of a turn, ids of its tool calls included. */
export function stepsOf(turn: ScriptTurn, nextId: () => string): readonly ScriptStep[] {
  if (typeof turn === "string") return [{ kind: "text", text: turn }];
  return [turn].flat().map((step: ScriptStep) => {
    if (step.kind !== "tool-call" || step.toolCallId !== undefined) return step;
    return { ...step, toolCallId: nextId() };
  });
}
