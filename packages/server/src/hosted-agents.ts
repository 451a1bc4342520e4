import { type Agent, checkAgentExtensions } from "@convoke/protocol";
import {
  type RecoveryReport,
  type ServedAgent,
  addAgent,
  agentKey,
  removeAgent,
  replaceAgent,
} from "@convoke/engine";
import { type Origin, createApp } from "./agent-app.ts";
import type { AgentStorage } from "./agent-options.ts";
import type { AgentManager } from "./bindings/agent-manager.ts";
import type { App } from "./bindings/app.ts";
import { respondWithAgents } from "./cards/agent-list.ts";
import { grpcBasePath, rootAddressFor } from "./cards/card-binding.ts";
import type { HttpRequest, HttpResponse } from "./http/exchange.ts";
import type { Routes } from "./route.ts";

/** An agent of a server. */
export interface ServerAgent {
  /** Its path on the server is `/agents/<id>`. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Whether it accepts new tasks. */
  readonly isEnabled: boolean;
  /** Whether it also answers at the root. */
  readonly isDefault: boolean;
  /** How many tasks it is working on. */
  readonly running: number;
}

/**
 * The agents of a server. A change applies to the next request; no task and no stream is lost by it.
 *
 * @example
 * const server = await serve([greeter, poet]);
 * await server.agents.replace(newPoet); // running turns finish with the old definition
 * server.agents.disable("greeter"); // its running tasks go on
 * await server.agents.add(painter);
 */
export interface ServerAgents extends Iterable<ServerAgent> {
  /**
   * Adds an agent. Unfinished tasks that the store has of it are recovered. Rejects if there is one
   * with its id, or if the server was started with a single agent instead of a list.
   */
  add(agent: Agent): Promise<RecoveryReport>;
  /**
   * Replaces the agent with the same id. New turns use the new definition; running ones finish with
   * the old one, which is disposed after the last of them. Rejects if there is none with its id.
   */
  replace(agent: Agent): Promise<void>;
  /**
   * Accepts no new tasks: messages that would start one are rejected with 503, and so are requests for
   * the card. Its tasks go on, can be read, and can receive messages.
   */
  disable(id: string): void;
  /** Accepts new tasks again. */
  enable(id: string): void;
  /**
   * Stops serving an agent; its paths respond with 404. Its running turns are aborted and its streams
   * end, but its unfinished tasks do not: they continue when the agent is added again. The agent at
   * the root cannot be removed.
   */
  remove(id: string): Promise<void>;
}

interface AgentHooks {
  readonly prepare: AgentStorage["prepare"];
  /** Throws if it is not an agent. */
  readonly checkAgent: (given: unknown) => void;
}

/** The agents of a running server, with what handles their requests. */
export class HostedAgents implements ServerAgents, Routes {
  readonly root: App;
  readonly grpcBasePath: string;
  readonly #origin: Origin;
  readonly #hooks: AgentHooks;
  readonly #apps = new Map<string, App>();
  readonly #manager: AgentManager | undefined;

  constructor(origin: Origin, hooks: AgentHooks) {
    const { options, running } = origin;
    const { agents } = running.engine;
    this.#origin = origin;
    this.#hooks = hooks;
    this.grpcBasePath = grpcBasePath(options.card);
    for (const agent of agents) this.#serve(agent);
    this.root = this.#apps.get(options.default ?? agents.first.id)!;
    this.#manager = options.manageAgents?.(this, options.logger);
  }

  readonly find = (id: string): App | undefined => this.#apps.get(id);

  directory(request: HttpRequest): HttpResponse {
    const base = rootAddressFor(request, this.#origin.options);
    const own = Array.from(this.#apps.values(), ({ agent: { id, info, isEnabled } }) => {
      const { name, description, skills } = info;
      return { id, name, description, skills, isEnabled };
    });
    const { remoteAgents: remote } = this.#origin;
    return respondWithAgents({ base, root: this.root.agent.id, own, remote }, request);
  }

  async add(agent: Agent): Promise<RecoveryReport> {
    this.#check(agent);
    const { engine } = this.#origin.running;
    const { id } = agentKey(agent);
    // Before the agent gets its environment: of two agents with one id, only the first may use it.
    if (engine.agents.get(id) === undefined) await this.#hooks.prepare?.(agent);
    const adding = addAgent(engine, agent);
    const served = engine.agents.get(id);
    if (served?.definition === agent) this.#serve(served);
    const recovered = await adding;
    this.#log("an agent was added", id);
    return recovered;
  }

  async replace(agent: Agent): Promise<void> {
    this.#check(agent);
    const { id } = this.#get(agentKey(agent).id);
    await this.#hooks.prepare?.(agent);
    replaceAgent(this.#origin.running.engine, agent);
    this.#log("an agent was replaced", id);
  }

  disable(id: string): void {
    this.#get(id).enable(false);
    this.#log("an agent was disabled", id);
  }

  enable(id: string): void {
    this.#get(id).enable(true);
    this.#log("an agent was enabled", id);
  }

  async remove(id: string): Promise<void> {
    const agent = this.#get(id);
    if (agent === this.root.agent) {
      throw new RangeError(
        `the agent ${JSON.stringify(id)} answers at the root and cannot be removed; disable or replace it`,
      );
    }
    this.#apps.delete(id);
    await removeAgent(this.#origin.running.engine, id);
    this.#log("an agent was removed", id);
  }

  *[Symbol.iterator](): IterableIterator<ServerAgent> {
    for (const { agent } of this.#apps.values()) {
      const { id, info, isEnabled, running } = agent;
      const { name, description } = info;
      const isDefault = agent === this.root.agent;
      yield { id, name, description, isEnabled, isDefault, running };
    }
  }

  #serve(agent: ServedAgent): void {
    const agentManager = (): AgentManager | undefined =>
      this.#origin.agentApi ? this.#manager : undefined;
    this.#apps.set(agent.id, createApp(agent, this.#origin, { find: this.find, agentManager }));
  }

  #get(id: string): ServedAgent {
    const agent = this.#apps.get(id)?.agent;
    if (agent !== undefined) return agent;
    const ids = [...this.#apps.keys()].join(", ");
    throw new RangeError(`there is no agent ${JSON.stringify(id)} here; there are ${ids}`);
  }

  /** Agents that were not created by `defineAgent` have not been validated. */
  #check(agent: Agent): void {
    this.#hooks.checkAgent(agent);
    checkAgentExtensions(agent.info.extensions ?? []);
  }

  #log(message: string, agentId: string): void {
    this.#origin.options.logger.info(message, { agentId });
  }
}
