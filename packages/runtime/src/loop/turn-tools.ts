import { clientTools, refuseTaken } from "../client-tools/client-tools.ts";
import type { McpServerReport } from "../mcp/mcp-server.ts";
import type { McpServers } from "../mcp/mcp-servers.ts";
import { RunSubAgents } from "../sub-agents/run-sub-agents.ts";
import type { SubAgentReport } from "../sub-agents/sub-agent-link.ts";
import type { ToolBox } from "../tools/tool-box.ts";
import type { Tool } from "../tools/tool.ts";
import type { ToolCall } from "./call-result.ts";
import { callHookNow } from "./hooks.ts";
import type { LoopScope } from "./loop-scope.ts";

/**
 * The tools of one run: its author's, its caller's, the sub-agents of the agent, and what its MCP
 * servers have.
 */
export class TurnTools {
  readonly #scope: LoopScope;
  /** Of this run to its end: one that is late starts no server after the agent was closed. */
  readonly #servers: McpServers | undefined;
  readonly #callers: readonly Tool[];
  readonly #subAgents: RunSubAgents;
  #box: ToolBox;
  #hasLooked = false;

  constructor(scope: LoopScope) {
    this.#scope = scope;
    this.#servers = scope.settings.mcp?.use();
    this.#subAgents = new RunSubAgents(scope);
    const { tools, clientTools: settings, toolOutputLimit: outputLimit } = scope.settings;
    this.#callers = clientTools(scope.turn, { settings, outputLimit });
    this.#box = this.#filtered(this.#withCallers(tools));
  }

  /** Those that the model was told of last. */
  get box(): ToolBox {
    return this.#box;
  }

  /** Looks what there is now: servers come and go, and so do their tools. */
  async look(): Promise<void> {
    const { signal, settings, journal } = this.#scope;
    const offered = await this.#offered(signal);
    const isFirst = !this.#hasLooked && journal.startedAt === undefined;
    if (isFirst) refuseTaken(settings.tools.with(offered), this.#callers);
    this.#hasLooked = true;
    if (this.#servers === undefined && settings.subAgents === undefined) return;
    this.#box = this.#filtered(this.#withCallers(settings.tools).with(offered));
  }

  /**
   * For calls of an answer that an earlier attempt got. What this attempt has told the model stays:
   * a tool whose server was lost meanwhile connects again by itself.
   */
  async lookOnce(): Promise<void> {
    if (!this.#hasLooked) await this.look();
  }

  /** The model wants these at the same time. */
  beginRound(calls: readonly ToolCall[]): void {
    this.#subAgents.beginRound(calls);
  }

  /** What a model is told that calls a tool that is not here. */
  unknownText(name: string): string {
    return this.#servers?.whyMissing(name) ?? this.#box.unknownText(name);
  }

  serverReports(): readonly McpServerReport[] {
    return this.#servers?.report() ?? [];
  }

  subAgentReports(): readonly SubAgentReport[] {
    return this.#subAgents.report();
  }

  /**
   * No answer will come any more to what servers ask for this task, and nobody waits for sub-agents,
   * if the task has ended: of one that was only left, somebody else goes on with them.
   */
  end(hasEnded: boolean): void {
    this.#servers?.endTask(this.#scope.turn.task.id);
    this.#subAgents.end(hasEnded);
  }

  /** Where a sub-agent and a server have something of the same name, it is the sub-agent's. */
  async #offered(signal: AbortSignal): Promise<readonly Tool[]> {
    const [agents, tools] = await Promise.all([
      this.#subAgents.tools(),
      this.#servers?.tools(signal) ?? [],
    ]);
    const names = new Set(agents.map(({ name }) => name));
    return [...agents, ...tools.filter(({ name }) => !names.has(name))];
  }

  /**
   * When the turn began, no tool of the agent had the name of one of the caller. One that has it
   * since, as after a change of the agent, is not called in its place.
   */
  #withCallers(tools: ToolBox): ToolBox {
    if (this.#callers.length === 0) return tools;
    const names = new Set(this.#callers.map(({ name }) => name));
    return tools.only(({ name }) => !names.has(name)).with(this.#callers);
  }

  #filtered(tools: ToolBox): ToolBox {
    const { settings, turn } = this.#scope;
    const { toolFilter } = settings.hooks;
    if (toolFilter === undefined) return tools;
    return callHookNow("toolFilter", () => tools.only((tool) => toolFilter(tool, turn)));
  }
}
