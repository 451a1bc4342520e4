import type { McpServerReport } from "../mcp/mcp-server.ts";
import type { McpServers } from "../mcp/mcp-servers.ts";
import type { ToolBox } from "../tools/tool-box.ts";
import { callHookNow } from "./hooks.ts";
import type { LoopScope } from "./loop-scope.ts";

/** The tools of one run: its author's, and those that the MCP servers of the agent have. */
export class TurnTools {
  readonly #scope: LoopScope;
  /** Of this run to its end: one that is late starts no server after the agent was closed. */
  readonly #servers: McpServers | undefined;
  #box: ToolBox;
  #hasLooked = false;

  constructor(scope: LoopScope) {
    this.#scope = scope;
    this.#servers = scope.settings.mcp?.use();
    this.#box = this.#filtered(scope.settings.tools);
  }

  /** Those that the model was told of last. */
  get box(): ToolBox {
    return this.#box;
  }

  /** Looks what there is now: servers come and go, and so do their tools. */
  async look(): Promise<void> {
    if (this.#servers === undefined) return;
    const { signal, settings } = this.#scope;
    const offered = await this.#servers.tools(signal);
    this.#box = this.#filtered(settings.tools.with(offered));
    this.#hasLooked = true;
  }

  /**
   * For calls of an answer that an earlier attempt got. What this attempt has told the model stays:
   * a tool whose server was lost meanwhile connects again by itself.
   */
  async lookOnce(): Promise<void> {
    if (!this.#hasLooked) await this.look();
  }

  /** What a model is told that calls a tool that is not here. */
  unknownText(name: string): string {
    return this.#servers?.whyMissing(name) ?? this.#box.unknownText(name);
  }

  serverReports(): readonly McpServerReport[] {
    return this.#servers?.report() ?? [];
  }

  /** No answer will come any more to what servers ask for this task. */
  end(): void {
    this.#servers?.endTask(this.#scope.turn.task.id);
  }

  #filtered(tools: ToolBox): ToolBox {
    const { settings, turn } = this.#scope;
    const { toolFilter } = settings.hooks;
    if (toolFilter === undefined) return tools;
    return callHookNow("toolFilter", () => tools.only((tool) => toolFilter(tool, turn)));
  }
}
