import {
  type DataPart,
  EXTENSIONS,
  type Task,
  type ToolResult,
  type ToolUse,
  isInterrupted,
  toolUsesIn,
} from "@convoke/protocol";
import type { ClientTool, ClientToolContext } from "./client-tool.ts";

const MAX_ERROR = 4000;

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
    const uses = openUses(task);
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
export function openUses({ status }: Task): readonly ToolUse[] {
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
