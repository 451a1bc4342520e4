import type {
  A2APart,
  AgentEvent,
  Approval,
  ApprovalAnswer,
  Caller,
  Metadata,
  ToolResult,
} from "@convoke/protocol";
import type { JsonSchema } from "../model/model.ts";
import { type InputSchema, type OutputOf, toolInput } from "./tool-input.ts";

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

const DEFAULT_TIMEOUT_MS = 60_000;

/**
 * Something a model can do. Whatever its author returns, running it gives a
 * stream of tool events that ends with a result or an interrupt.
 */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments, for the model. */
  readonly input: JsonSchema;
  /** Whether a call needs approval. Default never. */
  readonly confirm: ConfirmRule;
  /** May run again after a crash cut it, with the same key. */
  readonly idempotent: boolean;
  /** How long one call may take. */
  readonly timeoutMs: number;
  /** Checks the arguments before anything runs. */
  check(input: unknown): Promise<CheckedInput>;
  run(input: unknown, context: ToolContext): ToolReturn;
  /**
   * While a call waits for its answer: resolves when what it asked for was settled elsewhere. Then it
   * runs again without an answer, and so does a call whose question expired.
   */
  watch?(call: KnownCall, signal: AbortSignal): Promise<void>;
  /** No answer will come to what a call asked for: it should release what it holds. */
  giveUp?(call: KnownCall): void;
  /** What there is to show of a call that took too long; by then nothing else of it is shown. */
  late?(call: KnownCall, problem: string): ToolEvent;
}

/** A call that has begun. */
interface KnownCall {
  readonly toolCallId: string;
}

export type CheckedInput =
  | { readonly ok: true; readonly input: unknown }
  /** Each problem names the argument and the fix. */
  | { readonly ok: false; readonly problems: readonly string[] };

export type ConfirmRule =
  | "never"
  | "ask"
  | ((call: ConfirmedCall) => Confirmation | Promise<Confirmation>);

/** The call that a rule decides on. */
export interface ConfirmedCall {
  readonly toolName: string;
  readonly input: unknown;
  readonly caller: Caller;
}

export type Confirmation = "allow" | "ask" | "deny" | ApprovalWords;

/** How the approval is presented. */
export interface ApprovalWords {
  readonly title?: string;
  readonly prompt?: string;
  readonly risk?: "info" | "warning" | "danger";
  /** What would happen, such as a diff. */
  readonly preview?: readonly A2APart[];
}

/** What a running tool gets. */
export interface ToolContext {
  readonly taskId: string;
  readonly contextId: string;
  readonly toolCallId: string;
  /** The same for every attempt of this call, and for no other: give it to services that take an idempotency key. */
  readonly key: string;
  /** Fires when the task is canceled, or the call took too long. */
  readonly signal: AbortSignal;
  readonly caller: Caller;
  /** Answers to what this call asked for in earlier rounds, by request id. */
  readonly answers: ReadonlyMap<string, InterruptAnswer>;
}

/**
 * What the author of a tool may return: a value or a promise of one, a stream (an
 * async or a plain generator, an Observable) of what `ToolYield` lists, a tool
 * event, an interrupt or a list of interrupts.
 */
type ToolReturn = unknown;

/**
 * What a tool that is a stream may give: a string is output. Its result is the
 * `tool:result` it gave, else what it returned, else its output.
 */
export type ToolYield = string | ToolEvent | Interrupt;

/** Resources that other agents used on behalf of this one. */
export interface DelegatedUsage {
  /** The number of calls to agents, including their own calls. */
  readonly calls: number;
  readonly tokens: number;
  readonly costUsd?: number;
}

export type ToolEvent =
  /** What it is doing, for people. */
  | { readonly kind: "tool:progress"; readonly text: string; readonly fraction?: number }
  /** More of its output, as it comes. */
  | { readonly kind: "tool:output"; readonly text: string }
  /** An event of the task, such as an artifact. */
  | { readonly kind: "tool:event"; readonly event: AgentEvent }
  /** Where what it says comes from. */
  | { readonly kind: "tool:source"; readonly url: string; readonly title?: string }
  /** Resources that other agents used for it. */
  | { readonly kind: "tool:usage"; readonly used: DelegatedUsage }
  | { readonly kind: "tool:result"; readonly value: unknown }
  /** It failed; the text is for the model. */
  | { readonly kind: "tool:error"; readonly text: string };

/**
 * A tool that needs something first. Interrupts are values, not suspended
 * promises: the answer calls the tool again, so they survive restarts.
 */
export type Interrupt = InputRequired | AuthRequired | ApprovalRequired | ToolUseRequired;

export interface InputRequired {
  readonly kind: "interrupt:input";
  /** Names the request within the call; the answer comes under it. */
  readonly requestId: string;
  readonly prompt: string;
  readonly options?: readonly string[];
  /** The answer is kept in memory only, and never written anywhere. */
  readonly sensitive?: boolean;
  readonly metadata?: Metadata;
}

export interface AuthRequired {
  readonly kind: "interrupt:auth";
  readonly requestId: string;
  readonly prompt: string;
  /** Where to sign in. */
  readonly url?: string;
}

/** A call that another agent wants to make for this one needs approval. */
interface ApprovalRequired {
  readonly kind: "interrupt:approval";
  /** That of the approval, which is unique in the task. */
  readonly requestId: string;
  readonly approval: Approval;
}

/** The caller must run a tool of its own. */
export interface ToolUseRequired {
  readonly kind: "interrupt:tool-use";
  readonly requestId: string;
  readonly name: string;
  readonly input: Metadata;
}

export interface InterruptAnswer {
  /** The text of the answer; empty for a sign-in or a decision. */
  readonly text: string;
  readonly parts: readonly A2APart[];
  /** To an approval. */
  readonly decision?: ApprovalAnswer;
  /** Of a tool that the caller ran. */
  readonly result?: ToolResult;
}

/** A tool as its author writes it. */
export interface ToolDefinition<Schema extends InputSchema = InputSchema> {
  /** 1 to 64 letters, digits, `_` and `-`: the format that all providers accept. */
  readonly name: string;
  /** What it does and when to use it: the model chooses by this text. */
  readonly description: string;
  /** Any Standard Schema (zod, valibot, arktype, …) or JSON Schema of an object; without it, no arguments. */
  readonly input?: Schema;
  /** For the model, where the schema library has no conversion of its own. */
  readonly inputJsonSchema?: JsonSchema;
  /** Whether a call needs approval: never, always (`ask`), or by a rule. Default never. */
  readonly confirm?: ConfirmRule;
  /** Whether a call that a crash interrupted may run again, with the same key. Default false. */
  readonly idempotent?: boolean;
  /** How long one call may take. Default 60 s. */
  readonly timeoutMs?: number;
  /** Returns a value, a promise, a stream of tool events, or an interrupt. */
  run(input: OutputOf<Schema>, context: ToolContext): ToolReturn;
}

/** Creates a tool. */
export function tool<Schema extends InputSchema>(definition: ToolDefinition<Schema>): Tool {
  const { name, description, input, inputJsonSchema, timeoutMs = DEFAULT_TIMEOUT_MS } = definition;
  if (typeof name !== "string" || !NAME.test(name)) {
    throw new TypeError(
      `a tool's name has 1 to 64 letters, digits, "_" and "-": ${JSON.stringify(name)} does not fit`,
    );
  }
  if (typeof description !== "string" || description.trim() === "") {
    throw new TypeError(`tool "${name}" needs a description: the model chooses by it`);
  }
  if (typeof definition.run !== "function") {
    throw new TypeError(`tool "${name}" needs a run function: tool({ name, description, run })`);
  }
  if (!Number.isFinite(timeoutMs) || timeoutMs <= 0) {
    throw new TypeError(`timeoutMs of tool "${name}" must be above 0, not ${timeoutMs}`);
  }
  const { schema, check } = toolInput(name, input, inputJsonSchema);
  return {
    name,
    description,
    input: schema,
    confirm: confirmRule(name, definition.confirm),
    idempotent: definition.idempotent ?? false,
    timeoutMs,
    check,
    run: (checked, context) => definition.run(checked as OutputOf<Schema>, context),
  };
}

/** A mistyped rule must not leave a tool unguarded. */
function confirmRule(name: string, rule: ConfirmRule = "never"): ConfirmRule {
  if (rule === "never" || rule === "ask" || typeof rule === "function") return rule;
  throw new TypeError(
    `confirm of tool "${name}" must be "never", "ask" or a function, not ${JSON.stringify(rule)}`,
  );
}
