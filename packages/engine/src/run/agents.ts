import { A2AError, type Agent, type AgentInfo } from "@convoke/protocol";
import { ShortLivedSet } from "@convoke/protocol/internal";
import type { TaskRecord } from "../log/backend.ts";
import type { Logger } from "../logging/logger.ts";
import { type AgentKey, agentKey, isTaskOf } from "../task/agent-key.ts";

/** An agent that an engine serves. Its definition can be replaced while it is served. */
export class ServedAgent {
  readonly key: AgentKey;
  readonly #logger: Logger;
  #current: Definition;
  /** Replaced definitions that still have runs. */
  readonly #retired = new Set<Definition>();
  readonly #onStop = new ShortLivedSet<() => void>();
  #isEnabled = true;
  readonly #removal = new AbortController();

  constructor(agent: Agent, key: AgentKey, logger: Logger) {
    this.key = key;
    this.#logger = logger;
    this.#current = { agent, runs: new Set() };
  }

  get id(): string {
    return this.key.id;
  }

  /** What new turns run. */
  get definition(): Agent {
    return this.#current.agent;
  }

  get info(): AgentInfo {
    return this.definition.info;
  }

  /** Whether new tasks are accepted. */
  get isEnabled(): boolean {
    return this.#isEnabled && !this.#removal.signal.aborted;
  }

  /** Throws if new tasks are not accepted. */
  requireEnabled(): void {
    if (this.isEnabled) return;
    const id = JSON.stringify(this.id);
    const problem = `the agent ${id} is disabled and accepts no new tasks; try again later`;
    throw new A2AError("Unavailable", problem);
  }

  /** Aborts when the agent is not served any more. */
  get removed(): AbortSignal {
    return this.#removal.signal;
  }

  /** How many tasks it is working on, without those that wait for an answer. */
  get running(): number {
    const runs = [this.#current, ...this.#retired].flatMap((one) => [...one.runs]);
    return runs.filter((run) => !run.isWaiting).length;
  }

  /** Whether a stored task belongs to this agent. */
  owns(record: Pick<TaskRecord, "agent" | "agentId">): boolean {
    return isTaskOf(this.key, record);
  }

  enable(isEnabled: boolean): void {
    this.#isEnabled = isEnabled;
  }

  /** New turns use another definition. Runs of the earlier one continue with it. */
  replace(agent: Agent): void {
    const earlier = this.#current;
    if (earlier.agent === agent) return;
    this.#current = { agent, runs: new Set() };
    this.#retired.add(earlier);
    this.#disposeUnused();
  }

  /** Ends the service: nothing starts for this agent any more. */
  remove(): void {
    this.#removal.abort();
    this.stopWaiting();
  }

  /**
   * Calls the listener when nothing is to be expected of the agent any more: it is not served, or the
   * engine closes. Returns a function that removes it. Cheaper than a listener of both signals, which
   * matters because every request that waits for an answer has one.
   */
  onStop(listener: () => void): () => void {
    if (this.#removal.signal.aborted) listener();
    const waiting = this.#onStop.add(listener);
    return () => this.#onStop.delete(waiting);
  }

  /** Calls the listeners of `onStop`. */
  stopWaiting(): void {
    this.#onStop.forEach((listener) => listener());
    this.#onStop.clear();
  }

  /** Remembers that a run uses the current definition. */
  runStarted(run: AgentRun): void {
    this.#current.runs.add(run);
  }

  /** The run has ended, or was dropped while it was suspended. */
  runEnded(run: AgentRun): void {
    this.#current.runs.delete(run);
    for (const { runs } of this.#retired) runs.delete(run);
    this.#disposeUnused();
  }

  /** Disposes of all definitions, whether they are in use or not. */
  async dispose(): Promise<void> {
    const all = [...this.#retired, this.#current];
    this.#retired.clear();
    for (const definition of all) await this.#dispose(definition);
  }

  #disposeUnused(): void {
    for (const definition of this.#retired) {
      if (definition.runs.size > 0) continue;
      this.#retired.delete(definition);
      void this.#dispose(definition);
    }
  }

  async #dispose({ agent }: Definition): Promise<void> {
    try {
      await agent[Symbol.asyncDispose]?.();
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

/** An agent as it was defined at some time, and the runs that use it. */
interface Definition {
  readonly agent: Agent;
  readonly runs: Set<AgentRun>;
}

/** The agents of an engine. */
export class Agents implements Iterable<ServedAgent> {
  /**
   * Whether the store is shared by several agents. Then each has its own tasks, conversations and
   * message ids. The tasks in a store of one agent all count as its own when they are read, because
   * the agent may have been renamed.
   */
  readonly areSeveral: boolean;
  readonly #logger: Logger;
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
    this.#logger = logger;
    if (agents.length === 0) throw new TypeError("at least one agent is needed, not an empty list");
    for (const agent of agents) this.add(agent, key);
  }

  /** The only agent, or the first of several. */
  get first(): ServedAgent {
    const [first] = this.#served.values();
    if (first === undefined) throw new Error("no agent is served any more");
    return first;
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

  /** Adds an agent. Its stored tasks are not recovered: see `addAgent`. */
  add(agent: Agent, key: AgentKey = agentKey(agent)): ServedAgent {
    const namesake = this.#served.get(key.id);
    if (namesake !== undefined) {
      const [one, other] = [namesake.info.name, agent.info.name].map((name) =>
        JSON.stringify(name),
      );
      throw new TypeError(
        `the agents ${one} and ${other} have the same id ${JSON.stringify(key.id)}: set another id on one of them`,
      );
    }
    const served = new ServedAgent(agent, key, this.#logger);
    this.#served.set(key.id, served);
    return served;
  }

  /** Stops serving an agent. Its live tasks are not closed: see `removeAgent`. */
  delete(served: ServedAgent): void {
    this.#served.delete(served.id);
    served.remove();
  }

  [Symbol.iterator](): IterableIterator<ServedAgent> {
    return this.#served.values();
  }
}

function isList(given: Agent | readonly Agent[]): given is readonly Agent[] {
  return Array.isArray(given);
}
