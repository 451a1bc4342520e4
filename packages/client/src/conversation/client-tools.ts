import {
  A2AError,
  ClientError,
  type DataPart,
  EXTENSIONS,
  type Message,
  type Metadata,
  type RawCard,
  type Task,
  type ToolResult,
  type ToolUse,
  declaredTools,
  isInterrupted,
  toolUsesIn,
} from "@convoke/protocol";
import { declaresExtension } from "../cards/card.ts";

/** A tool that runs in this process when an agent calls it. The agent sees only its arguments and its result. */
export interface ClientTool {
  /** One to 64 letters, digits, `_` and `-`. */
  readonly name: string;
  /** What it does and when to use it: the agent decides based on it. */
  readonly description?: string | undefined;
  /** A JSON Schema of an object. Default: no arguments. */
  readonly inputSchema?: Metadata | undefined;
  /** Returns the result for the agent, as JSON. An error that it throws is sent as the error of the tool. */
  run(input: Metadata, context: ClientToolContext): unknown;
}

export interface ClientToolContext {
  /** Aborts when the run is aborted or left; then the result is not sent. */
  readonly signal: AbortSignal;
  /** Identifies the call, across retries and processes: use it as an idempotency key for services that accept one. */
  readonly toolUseId: string;
  readonly taskId: string;
}

/** Rejects tools that cannot be declared before anything is sent: the agent would reject them too. */
export function checkTools(tools: readonly ClientTool[]): void {
  for (const [place, tool] of tools.entries()) {
    if (typeof tool?.run === "function") continue;
    throw new TypeError(`tools[${place}] needs a run function: { name, description, run }`);
  }
  try {
    declaredTools(declaration(tools));
  } catch (error) {
    if (!A2AError.is(error)) throw error;
    // Name the option, not the field of the message.
    throw new TypeError(error.detail.replace(/^.*?\]\.(?=tools)/, ""), { cause: error });
  }
}

const { uri: CLIENT_TOOLS } = EXTENSIONS.clientTools;

/** Rejects an agent that never calls tools of its callers: a caller who passes some relies on them. */
export function requireToolSupport(card: RawCard, url: string): void {
  if (declaresExtension(card, CLIENT_TOOLS)) return;
  throw new ClientError(
    "unsupported",
    `the agent at ${url} does not support tools of its callers: its card does not declare ${CLIENT_TOOLS}. ` +
      "Leave tools out to call it without them",
  );
}

/** The message with the declaration of the tools. */
export function withTools(message: Message, tools: readonly ClientTool[]): Message {
  return { ...message, metadata: { ...message.metadata, ...declaration(tools) } };
}

/** The extensions of a request, including the one that activates tools. */
export function withToolsExtension(extensions: readonly string[] = []): readonly string[] {
  return [...extensions, CLIENT_TOOLS];
}

function declaration(tools: readonly ClientTool[]): Metadata {
  const declared = tools.map(({ name, description, inputSchema }) => ({
    name,
    ...(description !== undefined && { description }),
    ...(inputSchema !== undefined && { inputSchema }),
  }));
  return { [CLIENT_TOOLS]: { tools: declared } };
}

const MAX_ERROR = 4000;

/** Runs the tools that a task calls, each call once, however often the task repeats it. */
export class ToolRuns {
  readonly tools: readonly ClientTool[];
  /** The task of the cached results; results of earlier tasks are dropped. */
  #taskId: string | undefined;
  readonly #results = new Map<string, Promise<ToolResult>>();

  constructor(tools: readonly ClientTool[]) {
    this.tools = tools;
  }

  /** Runs all calls that the task waits for, concurrently; `undefined` if there are none. */
  async answer(task: Task, signal: AbortSignal): Promise<readonly DataPart[] | undefined> {
    const uses = pendingToolUses(task);
    if (uses.length === 0) return undefined;
    if (this.#taskId !== task.id) this.#results.clear();
    this.#taskId = task.id;
    const results = await Promise.all(uses.map((use) => this.#once(use, task.id, signal)));
    return results.map(resultPart);
  }

  #once(use: ToolUse, taskId: string, signal: AbortSignal): Promise<ToolResult> {
    const { toolUseId } = use;
    const known = this.#results.get(toolUseId);
    if (known !== undefined) return known;
    const result = this.#run(use, { taskId, toolUseId, signal }).then((outcome) => {
      // A tool that was aborted may run again when the conversation continues.
      if (outcome.error !== undefined && signal.aborted) this.#results.delete(toolUseId);
      return outcome;
    });
    this.#results.set(toolUseId, result);
    return result;
  }

  async #run({ name, input }: ToolUse, context: ClientToolContext): Promise<ToolResult> {
    const { toolUseId } = context;
    const tool = this.tools.find((one) => one.name === name);
    if (tool === undefined) {
      const names = this.tools.map((one) => one.name).join(", ");
      return { toolUseId, error: `There is no tool called ${name}; there are ${names}.` };
    }
    try {
      return { toolUseId, result: toJson(await tool.run(input, context)) };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const text = why === "" ? "no reason given" : why.slice(0, MAX_ERROR);
      return { toolUseId, error: `Tool ${name} failed: ${text}` };
    }
  }
}

/** The tool calls that a task waits for. */
export function pendingToolUses({ status }: Task): readonly ToolUse[] {
  const { state, message } = status;
  return message === undefined || !isInterrupted(state) ? [] : toolUsesIn(message);
}

/** The result as JSON; `undefined` becomes null. */
function toJson(value: unknown): unknown {
  if (value === undefined) return null;
  let json: string | undefined;
  let cause: unknown;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    cause = error;
  }
  if (json !== undefined) return JSON.parse(json) as unknown;
  const why = cause instanceof Error ? `: ${cause.message}` : "";
  throw new TypeError(`its result is not JSON${why}`, { cause });
}

function resultPart(data: ToolResult): DataPart {
  const { uri } = EXTENSIONS.clientTools;
  return { kind: "data", data, metadata: { [uri]: { type: "tool-result" } } };
}
