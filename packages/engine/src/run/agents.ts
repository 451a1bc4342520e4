import { A2AError, type Agent, type AgentInfo, completeAgentInfo } from "@convoke/protocol";
import type { TaskRecord } from "../log/backend.ts";
import type { Logger } from "../logging/logger.ts";
import { type AgentKey, agentKey, isTaskOf } from "../task/agent-key.ts";

/** An agent that an engine serves. */
export class ServedAgent {
  readonly key: AgentKey;
  readonly definition: Agent;
  readonly #logger: Logger;
  readonly #runs = new Set<AgentRun>();
  #isEnabled = true;
  #info: { readonly given: AgentInfo; readonly complete: AgentInfo } | undefined;

  constructor(agent: Agent, key: AgentKey, logger: Logger) {
    this.key = key;
    this.definition = agent;
    this.#logger = logger;
  }

  get id(): string {
    return this.key.id;
  }

  /** What the agent says of itself, with the defaults of what it leaves out. */
  get info(): AgentInfo {
    const { info } = this.definition;
    if (this.#info?.given !== info) this.#info = { given: info, complete: completeAgentInfo(info) };
    return this.#info.complete;
  }

  /** Whether new tasks are accepted. */
  get isEnabled(): boolean {
    return this.#isEnabled;
  }

  /** Throws if new tasks are not accepted. */
  requireEnabled(): void {
    if (this.isEnabled) return;
    const id = JSON.stringify(this.id);
    const problem = `the agent ${id} is disabled and accepts no new tasks; try again later`;
    throw new A2AError("Unavailable", problem);
  }

  /** How many tasks it is working on, without those that wait for an answer. */
  get running(): number {
    return [...this.#runs].filter((run) => !run.isWaiting).length;
  }

  /** Whether a stored task belongs to this agent. */
  owns(record: Pick<TaskRecord, "agent" | "agentId">): boolean {
    return isTaskOf(this.key, record);
  }

  enable(isEnabled: boolean): void {
    this.#isEnabled = isEnabled;
  }

  runStarted(run: AgentRun): void {
    this.#runs.add(run);
  }

  /** The run has ended, or was dropped while it was suspended. */
  runEnded(run: AgentRun): void {
    this.#runs.delete(run);
  }

  /** Drains the agents that it runs in this process. */
  async drain(withinMs: number): Promise<void> {
    try {
      await this.definition.drain?.(withinMs);
    } catch (error) {
      this.#logger.error("the agents of an agent could not be drained", {
        agentId: this.id,
        error,
      });
    }
  }

  async dispose(): Promise<void> {
    try {
      await this.definition[Symbol.asyncDispose]?.();
    } catch (error) {
      this.#logger.error("the agent could not be closed", { agentId: this.id, error });
    }
  }
}

/**
 * What is known of a run of an agent here. Not the run itself, because a `Set` may keep what is removed
 * from it, see `ShortLivedSet`.
 */
interface AgentRun {
  /** Whether it waits for an answer or a time. */
  readonly isWaiting: boolean;
}

/** The agents of an engine. */
export class Agents implements Iterable<ServedAgent> {
  /**
   * Whether the store is shared by several agents. Then each has its own tasks, conversations and
   * message ids. The tasks in a store of one agent all count as its own when they are read, because
   * the agent may have been renamed.
   */
  readonly areSeveral: boolean;
  readonly #served = new Map<string, ServedAgent>();

  /** @param isShared whether other processes, with other agents, may use the store */
  constructor(
    given: Agent | readonly Agent[],
    key: AgentKey | undefined,
    logger: Logger,
    isShared = false,
  ) {
    const agents = isList(given) ? given : [given];
    this.areSeveral = isShared || isList(given);
    if (agents.length === 0) throw new TypeError("at least one agent is needed, not an empty list");
    for (const agent of agents) this.#add(new ServedAgent(agent, key ?? agentKey(agent), logger));
  }

  /** The only agent, or the first of several. */
  get first(): ServedAgent {
    const [first] = this.#served.values();
    return first!;
  }

  get(id: string): ServedAgent | undefined {
    return this.#served.get(id);
  }

  /** The agent to which a stored task belongs, if it is served. */
  of(record: Pick<TaskRecord, "agent" | "agentId">): ServedAgent | undefined {
    const { agentId } = record;
    if (agentId !== undefined) return this.get(agentId);
    return [...this.#served.values()].find((agent) => agent.owns(record));
  }

  [Symbol.iterator](): IterableIterator<ServedAgent> {
    return this.#served.values();
  }

  #add(agent: ServedAgent): void {
    const { id } = agent;
    const namesake = this.#served.get(id);
    if (namesake !== undefined) {
      const [one, other] = [namesake, agent].map(({ info }) => JSON.stringify(info.name));
      throw new TypeError(
        `the agents ${one} and ${other} have the same id ${JSON.stringify(id)}: set another id on one of them`,
      );
    }
    this.#served.set(id, agent);
  }
}

function isList(given: Agent | readonly Agent[]): given is readonly Agent[] {
  return Array.isArray(given);
}
