import type { FinishReason, ModelUsage } from "../../model/model.ts";

/** One step of a scripted model answer. */
export type ScriptStep =
  /** Streamed word by word. */
  | { readonly kind: "text"; readonly text: string }
  | {
      readonly kind: "reasoning";
      readonly text: string;
      /** The signature that the provider expects back with the next request. */
      readonly signature?: string;
    }
  | {
      readonly kind: "tool-call";
      readonly toolName: string;
      /**
       * The arguments. A string is used as the JSON text itself, so that invalid JSON can be
       * tested.
       */
      readonly input: unknown;
      /** Default: `call_1`, `call_2`, … across the whole script. */
      readonly toolCallId?: string;
      readonly signature?: string;
    }
  | { readonly kind: "source"; readonly url: string; readonly title?: string }
  /** `bytes` is base64. */
  | { readonly kind: "file"; readonly mediaType: string; readonly bytes: string }
  | { readonly kind: "delay"; readonly ms: number }
  /** Sends nothing more and never ends. */
  | { readonly kind: "silence" }
  | ScriptError
  /** The connection breaks. */
  | { readonly kind: "cut" }
  /** The answer ends without being reported as complete. */
  | { readonly kind: "unfinished" }
  /** Something that cannot be parsed. */
  | { readonly kind: "malformed" }
  /** How the answer ends. Only needed to override what the other steps imply. */
  | { readonly kind: "finish"; readonly reason?: FinishReason; readonly usage?: ModelUsage };

/**
 * An error from the provider. As the first step it sets the response status; later it is an error
 * mid-answer.
 */
export interface ScriptError {
  readonly kind: "error";
  readonly status: number;
  readonly retryAfterSeconds?: number;
  /** The provider's error code, such as `context_length_exceeded`. */
  readonly code?: string;
  readonly message?: string;
}

/** A whole answer: its text, one step, or several steps. */
export type ScriptTurn = string | ScriptStep | readonly ScriptStep[];

/** The steps of a turn, with ids assigned to its tool calls. */
export function stepsOf(turn: ScriptTurn, nextId: () => string): readonly ScriptStep[] {
  if (typeof turn === "string") return [{ kind: "text", text: turn }];
  return [turn].flat().map((step: ScriptStep) => {
    if (step.kind !== "tool-call" || step.toolCallId !== undefined) return step;
    return { ...step, toolCallId: nextId() };
  });
}
