import type {
  A2APart,
  AgentEvent,
  Approval,
  ApprovalAnswer,
  Caller,
  FileContent,
  Metadata,
  ToolResult,
  TraceHeaders,
  Turn,
} from "@convoke/protocol";
import type { JsonSchema } from "../model/model.ts";
import { type OptionNames, checkOptions } from "./check-options.ts";
import { type InputSchema, type OutputOf, toolInput } from "./tool-input.ts";

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

const DEFAULT_TIMEOUT_MS = 60_000;

/**
 * A tool that a model can call. Whatever its author returns, running it produces a stream of tool
 * events that ends with a result or an interrupt.
 */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /**
   * Where the description came from, if the author of the agent did not write it: "The MCP server
   * files". The prompt says so, so that the model does not take the text for an instruction.
   */
  readonly describedBy?: string;
  /** JSON Schema of its arguments, for the model. */
  readonly inputSchema: JsonSchema;
  /** Whether a call needs approval. Default never. */
  readonly confirm: ConfirmRule;
  /** Whether a call that a crash interrupted may run again, with the same key. */
  readonly idempotent: boolean;
  /** Whether it calls other agents. Work that may not be handed on does not get it. Default false. */
  readonly callsAgents?: boolean;
  /** How long one call may take. */
  readonly timeoutMs: number;
  /** Checks the arguments before anything runs. */
  check(input: unknown): Promise<CheckedInput>;
  run(input: unknown, context: ToolContext): ToolReturn;
  /**
   * Called while a call waits for an answer. Resolves when the request was settled elsewhere. The
   * call then runs again without an answer, as does a call whose question expired.
   */
  watch?(call: KnownCall, signal: AbortSignal): Promise<void>;
  /** Called when a request will never be answered, so that the call can release its resources. */
  giveUp?(call: KnownCall): void;
  /**
   * The event to show for a call that timed out. No other event of the call is shown after that.
   */
  late?(call: KnownCall, problem: string): ToolEvent;
}

/** A call that has started. */
interface KnownCall {
  readonly toolCallId: string;
}

export type CheckedInput =
  | { readonly ok: true; readonly input: unknown }
  /** Each problem names the argument and how to fix it. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** When a call needs approval. `Input` is the type of the tool's arguments, once checked. */
export type ConfirmRule<Input = unknown> =
  | "never"
  | "ask"
  | ((call: ConfirmedCall<Input>) => Confirmation | Promise<Confirmation>);

/** The call that a confirm rule decides on. */
export interface ConfirmedCall<Input = unknown> {
  readonly toolName: string;
  readonly input: Input;
  readonly caller: Caller;
  /** The task, and the message that started the turn. */
  readonly turn: Pick<Turn, "task" | "message">;
}

export type Confirmation = "allow" | "ask" | "deny" | ApprovalWords;

/** How the approval is presented. */
export interface ApprovalWords {
  readonly title?: string;
  readonly prompt?: string;
  readonly risk?: "info" | "warning" | "danger";
  /**
   * What would happen. The first part that can be shown is used: a text, or data with a `text`, or
   * data with a file `path` and its content `before` and `after`. Other fields of data that an
   * extension marks are kept for callers that know the extension.
   */
  readonly preview?: readonly A2APart[];
}

/** A W3C trace context, and the trace id in it. */
export interface ToolTrace extends TraceHeaders {
  readonly traceId: string;
}

/** The context of a running tool call. */
export interface ToolContext {
  readonly taskId: string;
  readonly contextId: string;
  readonly toolCallId: string;
  /**
   * The same for every attempt of this call, and different for every other call. Pass it to
   * services that accept an idempotency key.
   */
  readonly key: string;
  /**
   * Fires when the task is canceled or the call times out. Not when the server stops: then the code
   * of the tool is left where it waits, because another attempt continues the task.
   */
  readonly signal: AbortSignal;
  /**
   * Fires when `signal` does, and when the server has stopped before the call ended. Only for what
   * must not outlive the call here, such as a child process: nothing that it leads to counts.
   */
  readonly stopped: AbortSignal;
  readonly caller: Caller;
  /**
   * How many more times the work may be handed on to another agent, and from there to others.
   * Absent: there is no limit.
   */
  readonly depth?: number;
  /**
   * The trace of the task: that of its caller, or one of its own. Send `traceparent` and
   * `tracestate` as headers with requests to other services.
   */
  readonly trace: ToolTrace;
  /** Answers to the requests of earlier rounds of this call, by request id. */
  readonly answers: ReadonlyMap<string, InterruptAnswer>;
  /**
   * The credentials that the caller has sent for this task, by name. Return
   * `authRequired(prompt, { credential: name })` for one that is missing or no longer valid.
   */
  readonly credentials: ReadonlyMap<string, string>;
}

/**
 * What the author of a tool may return: a value or a promise of one, a tool event, an interrupt, a
 * list of interrupts, or a stream of `ToolYield` values (an async or sync generator, or an
 * Observable).
 */
type ToolReturn = unknown;

/**
 * What a streaming tool may yield. A string is output. The result is the yielded `tool:result` if
 * there is one, otherwise the return value, otherwise the collected output.
 */
export type ToolYield = string | ToolEvent | Interrupt;

/** Resources that other agents used on behalf of this one. */
export interface DelegatedUsage {
  /** The number of calls to other agents, including the calls that those made. */
  readonly calls: number;
  readonly tokens: number;
  readonly costUsd?: number;
}

export type ToolEvent =
  /** What the tool is doing, for display. */
  | { readonly kind: "tool:progress"; readonly text: string; readonly fraction?: number }
  /** A chunk of its output. */
  | { readonly kind: "tool:output"; readonly text: string }
  /** An event of the task, such as an artifact. */
  | { readonly kind: "tool:event"; readonly event: AgentEvent }
  /**
   * A file that belongs to the result. It becomes an artifact of the task, with the id
   * `<toolCallId>-file-<number>`, and the model sees it if its provider takes files in results.
   */
  | { readonly kind: "tool:file"; readonly file: FileContent }
  /** A source of its output. */
  | { readonly kind: "tool:source"; readonly url: string; readonly title?: string }
  /**
   * A note about the call in the log of the task. Neither the model nor plain callers see it;
   * dialects of the agent may show it.
   */
  | { readonly kind: "tool:note"; readonly name: string; readonly data: unknown }
  /** Resources that other agents used on its behalf. */
  | { readonly kind: "tool:usage"; readonly used: DelegatedUsage }
  | { readonly kind: "tool:result"; readonly value: unknown }
  /** The tool failed; the text is for the model. */
  | { readonly kind: "tool:error"; readonly text: string };

/** The id of the artifact that a file of a result becomes; the first has the place 1. */
export function fileArtifactId(toolCallId: string, place: number): string {
  return `${toolCallId}-file-${place}`;
}

/**
 * Requests something that a tool needs before it can continue. Interrupts are values, not suspended
 * promises: once answered, the tool is called again, so they survive restarts.
 */
export type Interrupt = InputRequired | AuthRequired | ApprovalRequired | ToolUseRequired;

export interface InputRequired {
  readonly kind: "interrupt:input";
  /** Identifies the request within the call; the answer is stored under it. */
  readonly requestId: string;
  readonly prompt: string;
  readonly options?: readonly string[];
  /** Keeps the answer in memory only; it is never written to disk or to a log. */
  readonly sensitive?: boolean;
  readonly metadata?: Metadata;
}

export interface AuthRequired {
  readonly kind: "interrupt:auth";
  readonly requestId: string;
  readonly prompt: string;
  /** The sign-in page. */
  readonly url?: string;
  /**
   * Asks the caller for a credential of this name, such as its token at a third party. The tool, and
   * later calls of the task, get it in `context.credentials`. It is kept in memory only, and asked
   * for again after a restart. Default none: the caller signs in elsewhere.
   */
  readonly credential?: string;
}

/** A call that another agent wants to make on behalf of this one needs approval. */
interface ApprovalRequired {
  readonly kind: "interrupt:approval";
  /** The approval id, which is unique within the task. */
  readonly requestId: string;
  readonly approval: Approval;
}

/** The caller must run one of its own tools. */
export interface ToolUseRequired {
  readonly kind: "interrupt:tool-use";
  readonly requestId: string;
  readonly name: string;
  readonly input: Metadata;
}

export interface InterruptAnswer {
  /** The text of the answer, or the credential; empty for a sign-in or a decision. */
  readonly text: string;
  readonly parts: readonly A2APart[];
  /** The decision, if the request was an approval. */
  readonly decision?: ApprovalAnswer;
  /** The result, if the caller ran a tool. */
  readonly result?: ToolResult;
}

/** The definition of a tool, as its author writes it. */
export interface ToolDefinition<Schema extends InputSchema = InputSchema> {
  /** 1 to 64 letters, digits, `_` and `-`: the format that all providers accept. */
  readonly name: string;
  /** What the tool does and when to use it. The model chooses tools by this text. */
  readonly description: string;
  /**
   * Any Standard Schema (zod, valibot, arktype, …), or a JSON Schema of an object. Without it, the
   * tool takes no arguments. The name is that of MCP and of the AI SDK.
   */
  readonly inputSchema?: Schema;
  /** The schema for the model, if the schema library cannot convert to JSON Schema itself. */
  readonly inputJsonSchema?: JsonSchema;
  /**
   * Whether a call needs approval: never, always (`ask`), or decided by a function. Default: never.
   */
  readonly confirm?: ConfirmRule<OutputOf<Schema>>;
  /** Whether a call that a crash interrupted may run again, with the same key. Default false. */
  readonly idempotent?: boolean;
  /**
   * Whether the tool calls other agents. It is not offered for work that may not be handed on: a task
   * of the polling protocol, or a message whose budget has no depth left. Default false.
   */
  readonly callsAgents?: boolean;
  /** How long one call may take. Default 60 s. */
  readonly timeoutMs?: number;
  /** Returns a value, a promise, a stream of tool events, or an interrupt. */
  run(input: OutputOf<Schema>, context: ToolContext): ToolReturn;
}

const OPTIONS: OptionNames<ToolDefinition> = {
  name: true,
  description: true,
  inputSchema: true,
  inputJsonSchema: true,
  confirm: true,
  idempotent: true,
  callsAgents: true,
  timeoutMs: true,
  run: true,
};

/** Creates a tool. */
export function tool<Schema extends InputSchema>(definition: ToolDefinition<Schema>): Tool {
  checkOptions(definition, OPTIONS, "tool");
  const { name, description, inputJsonSchema, timeoutMs = DEFAULT_TIMEOUT_MS } = definition;
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
  const { schema, check } = toolInput(name, definition.inputSchema, inputJsonSchema);
  return {
    name,
    description,
    inputSchema: schema,
    confirm: confirmRule(name, definition.confirm),
    idempotent: definition.idempotent ?? false,
    ...(definition.callsAgents === true && { callsAgents: true }),
    timeoutMs,
    check,
    run: (checked, context) => definition.run(checked as OutputOf<Schema>, context),
  };
}

/** Rejects unknown rules, because a mistyped rule must not leave a tool unguarded. */
function confirmRule<Input>(name: string, rule: ConfirmRule<Input> = "never"): ConfirmRule {
  // The rule is only called with arguments that the schema has checked.
  if (rule === "never" || rule === "ask" || typeof rule === "function") return rule as ConfirmRule;
  throw new TypeError(
    `confirm of tool "${name}" must be "never", "ask" or a function, not ${JSON.stringify(rule)}`,
  );
}
