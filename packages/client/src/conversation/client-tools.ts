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

const MAX_ERROR = 4000;

const { uri: CLIENT_TOOLS } = EXTENSIONS.clientTools;

/** A tool that runs here when an agent calls it. The agent sees its arguments and its result, and nothing else. */
export interface ClientTool {
  /** One to 64 letters, digits, `_` and `-`. */
  readonly name: string;
  /** What it does and when to use it: the agent chooses by it. */
  readonly description?: string | undefined;
  /** A JSON Schema of an object; without it, no arguments. */
  readonly inputSchema?: Metadata | undefined;
  /** Returns what the agent is told, as JSON. What it throws, the agent is told as the error of the tool. */
  run(input: Metadata, context: ClientToolContext): unknown;
}

export interface ClientToolContext {
  /** Fires when the run is aborted or left; its result is not sent then. */
  readonly signal: AbortSignal;
  /** The same when the call is seen again, also by another process: give it to services that take an idempotency key. */
  readonly toolUseId: string;
  readonly taskId: string;
}

/** Refuses what cannot be declared, before anything is said: the agent would refuse it as well. */
export function checkTools(tools: readonly ClientTool[]): void {
  for (const [place, tool] of tools.entries()) {
    if (typeof tool?.run === "function") continue;
    throw new TypeError(`tools[${place}] needs a run function: { name, description, run }`);
  }
  try {
    declaredTools(declaration(tools));
  } catch (error) {
    if (!A2AError.is(error)) throw error;
    // By the name that they have here, not by their place in the message.
    throw new TypeError(error.detail.replace(/^.*?\]\.(?=tools)/, ""), { cause: error });
  }
}

/** Refuses an agent that would never call a tool of its caller: whoever gives some relies on them. */
export function requireToolSupport(card: RawCard, url: string): void {
  if (declaresExtension(card, CLIENT_TOOLS)) return;
  throw new ClientError(
    "unsupported",
    `the agent at ${url} uses no tools of its callers: its card does not declare ${CLIENT_TOOLS}. ` +
      "Leave tools out to speak to it without them",
  );
}

/** The message with what the agent may call. */
export function withTools(message: Message, tools: readonly ClientTool[]): Message {
  return { ...message, metadata: { ...message.metadata, ...declaration(tools) } };
}

/** What a request asks for so that its tools count. */
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

/** Runs the tools that a task calls, each call once, however often the task shows it. */
export class ToolRuns {
  readonly tools: readonly ClientTool[];
  /** Of the task that called last; of others nothing is asked again. */
  #taskId: string | undefined;
  readonly #results = new Map<string, Promise<ToolResult>>();

  constructor(tools: readonly ClientTool[]) {
    this.tools = tools;
  }

  /** Runs everything that the task waits for, at the same time. Nothing where it waits for none. */
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
    const result = this.#run(use, { taskId, toolUseId, signal }).then((came) => {
      // Stopped before its end, it may run again when the conversation goes on.
      if (came.error !== undefined && signal.aborted) this.#results.delete(toolUseId);
      return came;
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
      return { toolUseId, result: jsonOf(await tool.run(input, context)) };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const text = why === "" ? "it does not say why" : why.slice(0, MAX_ERROR);
      return { toolUseId, error: `Tool ${name} failed: ${text}` };
    }
  }
}

/** What a task wants to be run here. */
export function pendingToolUses({ status }: Task): readonly ToolUse[] {
  const { state, message } = status;
  return message === undefined || !isInterrupted(state) ? [] : toolUsesIn(message);
}

/** A result as it travels; a tool that returns nothing has done its work. */
function jsonOf(value: unknown): unknown {
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
