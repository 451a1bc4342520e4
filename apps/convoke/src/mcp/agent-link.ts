import type { RemoteAgent } from "@convoke/client";
import { isDeepStrictEqual } from "node:util";
import { type SkillTool, skillTools } from "./skill-tools.ts";

/** Finds the agent, and reads its card anew. */
export type OpenAgent = () => Promise<RemoteAgent>;

/**
 * The way to an agent that may be restarted, and be another one afterwards. After
 * a loss the next call reads the card again, and finds its agent by that.
 */
export class AgentLink {
  /** Hears of it when the agent has other skills than before. */
  onTools: ((tools: readonly SkillTool[]) => void) | undefined;
  readonly #open: OpenAgent;
  #agent: RemoteAgent;
  #tools: readonly SkillTool[];
  #reopening: Promise<RemoteAgent> | undefined;
  #isLost = false;

  private constructor(open: OpenAgent, agent: RemoteAgent) {
    this.#open = open;
    this.#agent = agent;
    this.#tools = skillTools(agent.info);
  }

  static async open(open: OpenAgent): Promise<AgentLink> {
    return new AgentLink(open, await open());
  }

  get tools(): readonly SkillTool[] {
    return this.#tools;
  }

  /** The agent as its card said last. */
  get known(): RemoteAgent {
    return this.#agent;
  }

  /** The agent to speak to now. */
  async agent(): Promise<RemoteAgent> {
    if (!this.#isLost) return this.#agent;
    this.#reopening ??= this.#reopen().finally(() => {
      this.#reopening = undefined;
    });
    return this.#reopening;
  }

  /** The connection was lost, so nobody knows what is there next. */
  lost(): void {
    this.#isLost = true;
  }

  close(): void {
    this.#agent.close();
  }

  async #reopen(): Promise<RemoteAgent> {
    const agent = await this.#open();
    // What still runs by the old one goes on.
    this.#agent.close();
    this.#agent = agent;
    this.#isLost = false;
    const tools = skillTools(agent.info);
    if (!isDeepStrictEqual(tools, this.#tools)) {
      this.#tools = tools;
      this.onTools?.(tools);
    }
    return agent;
  }
}
