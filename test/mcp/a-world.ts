import type { A2APart } from "@convoke/protocol";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type {
  McpCommandConfig,
  McpOptions,
  McpServerConfig,
} from "../../packages/runtime/src/mcp/mcp-settings.ts";
import { McpServers } from "../../packages/runtime/src/mcp/mcp-servers.ts";
import { digestArguments } from "../../packages/runtime/src/approvals/gate.ts";
import { runTool } from "../../packages/runtime/src/loop/run-tool.ts";
import type { ToolOutcome } from "../../packages/runtime/src/run/tape.ts";
import type { InterruptAnswer, Tool, ToolEvent } from "../../packages/runtime/src/tools/tool.ts";
import { MARK } from "./marked-processes.ts";

export interface Called {
  readonly outcome: ToolOutcome;
  /** What users could see in the meantime. */
  readonly events: readonly ToolEvent[];
}

export interface CallSettings {
  readonly toolCallId?: string;
  readonly taskId?: string;
  readonly answers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: ToolEvent) => void;
}

/** The MCP servers of an agent, and how it uses them, without a model. */
export class World {
  readonly servers: McpServers;
  readonly log: { readonly message: string; readonly fields: Readonly<Record<string, unknown>> }[] =
    [];
  #calls = 0;

  constructor(servers: Readonly<Record<string, McpServerConfig>>, options: McpOptions = {}) {
    const write = (message: string, fields = {}): void => void this.log.push({ message, fields });
    this.servers = new McpServers(servers, { logger: { debug: write, warn: write }, ...options });
    onTestFinished(() => this.servers.close());
  }

  async names(): Promise<readonly string[]> {
    return (await this.servers.tools()).map(({ name }) => name);
  }

  async find(name: string): Promise<Tool> {
    const found = (await this.servers.tools()).find((tool) => tool.name === name);
    if (found === undefined) throw new Error(`there is no tool ${name}`);
    return found;
  }

  async call(
    name: string,
    input: Readonly<Record<string, unknown>> = {},
    settings: CallSettings = {},
  ): Promise<Called> {
    return this.run(await this.find(name), input, settings);
  }

  /** Runs a tool as the loop does, also one that was found before. */
  async run(
    tool: Tool,
    input: Readonly<Record<string, unknown>> = {},
    settings: CallSettings = {},
  ): Promise<Called> {
    this.#calls += 1;
    const { toolCallId = `call-${this.#calls}`, taskId = "task", answers = {} } = settings;
    const { signal = new AbortController().signal, onEvent } = settings;
    const events: ToolEvent[] = [];
    const given = Object.entries(answers).map(([requestId, text]): [string, InterruptAnswer] => [
      requestId,
      { text, parts: noParts },
    ]);
    const outcome = await runTool(tool, {
      call: { toolCallId, digest: digestArguments(input), isGuarded: false },
      decisions: [],
      input,
      context: {
        taskId,
        contextId: "context",
        toolCallId,
        key: `${taskId}:${toolCallId}`,
        caller: { owner: "somebody" },
        trace: {
          traceId: "0af7651916cd43dd8448eb211c80319c",
          traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        },
        answers: new Map(given),
        credentials: new Map(),
      },
      signal,
      outputLimit: 10_000_000,
      sink: {
        take: (event) => {
          events.push(event);
          onEvent?.(event);
        },
        room: () => undefined,
      },
    });
    return { outcome, events };
  }

  /** The result of a call that must succeed. */
  async result(
    name: string,
    input: Readonly<Record<string, unknown>> = {},
    settings: CallSettings = {},
  ): Promise<unknown> {
    const { outcome } = await this.call(name, input, settings);
    if (outcome.kind !== "result") throw new Error(JSON.stringify(outcome));
    return outcome.value;
  }
}

const noParts: readonly A2APart[] = [];

const OURS = {
  "helpful-server": new URL("servers/helpful-server.ts", import.meta.url),
  "odd-server": new URL("servers/odd-server.ts", import.meta.url),
};

const PUBLISHED = {
  everything: import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"),
  filesystem: import.meta.resolve("@modelcontextprotocol/server-filesystem/dist/index.js"),
  memory: import.meta.resolve("@modelcontextprotocol/server-memory/dist/index.js"),
};

type Environment = Readonly<Record<string, string>>;

/** A server of ours, marked so that its processes can be found. */
export function ours(
  name: keyof typeof OURS,
  args: readonly string[] = [],
  env: Environment = {},
): McpCommandConfig {
  return program(fileURLToPath(OURS[name]), args, env);
}

/** A widely used server. */
export function published(
  name: keyof typeof PUBLISHED,
  args: readonly string[] = [],
  env: Environment = {},
): McpCommandConfig {
  return program(fileURLToPath(PUBLISHED[name]), args, env);
}

function program(path: string, args: readonly string[], env: Environment): McpCommandConfig {
  return { command: process.execPath, args: [path, ...args], env: { MCP_TEST: MARK, ...env } };
}
