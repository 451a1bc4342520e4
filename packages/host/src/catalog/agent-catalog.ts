import { isStorageFailure } from "@convoke/engine";
import type { Agent } from "@convoke/protocol";
import { agentIdFrom, isObject } from "@convoke/protocol/internal";
import {
  AgentChangeError,
  type AgentManager,
  type Logger,
  type ManagedAgent,
  type ServerAgents,
} from "@convoke/server";
import { isDeepStrictEqual } from "node:util";
import {
  type AgentEntry,
  type AgentKind,
  type LoadModule,
  buildAgent,
  kindOf,
} from "./agent-entry.ts";
import type { CatalogStore, JsonDefinition, StoredAgent, StoredAgents } from "./catalog-store.ts";
import { type CatalogRights, checkDefinition, toEntry } from "./json-definition.ts";

export interface AgentCatalogOptions extends CatalogRights {
  /** The agents of the configuration by their ids. */
  readonly entries?: Readonly<Record<string, AgentEntry>>;
  /** Agents that come from elsewhere, such as files that were named on the command line. */
  readonly agents?: readonly Agent[];
  /** Keeps the changes that operators make. */
  readonly store: CatalogStore;
  readonly loadModule: LoadModule;
}

/** An agent of the catalogue that is not there only because of a change. */
interface BaseAgent {
  readonly source: "config" | "command-line";
  readonly entry: AgentEntry;
}

const SOURCES = { config: "configuration", "command-line": "command line" } as const;

/**
 * The agents of a server: those of its configuration, with the changes that operators have made while
 * it ran. A change is stored before it applies, so that it survives a crash. Changes take precedence
 * over the configuration. Servers that share a store make each other's changes.
 *
 * @example
 * const catalog = await AgentCatalog.open({ entries, store, loadModule });
 * await serve(catalog.agents, { manageAgents: (agents, logger) => catalog.manage(agents, logger) });
 */
export class AgentCatalog {
  /** The agents to start with. */
  readonly agents: readonly Agent[];
  readonly #options: AgentCatalogOptions;
  readonly #base: ReadonlyMap<string, BaseAgent>;
  /** Why agents whose changes cannot be used are not served, or served without them. */
  readonly #problems: Map<string, string>;
  /** The stored changes that the server has made. */
  #stored: StoredAgents;
  #stopFollowing: (() => void) | undefined;
  /** Ends when the changes so far have ended, so that they are made one after the other. */
  #changing: Promise<unknown> = Promise.resolve();

  private constructor(
    options: AgentCatalogOptions,
    base: ReadonlyMap<string, BaseAgent>,
    loaded: LoadedAgents & { readonly stored: StoredAgents },
  ) {
    this.#options = options;
    this.#base = base;
    this.#stored = loaded.stored;
    this.agents = loaded.agents;
    this.#problems = new Map(loaded.problems);
  }

  /** Builds all agents. Rejects if the configuration is wrong; a change that cannot be used is logged. */
  static async open(options: AgentCatalogOptions): Promise<AgentCatalog> {
    const base = baseAgents(options);
    const stored = await options.store.read();
    return new AgentCatalog(options, base, {
      stored,
      ...(await loadAgents({ options, base, stored })),
    });
  }

  /** Makes the changes of operators to a server that serves the agents. */
  manage(served: ServerAgents, logger: Logger): AgentManager {
    for (const [agentId, problem] of this.#problems) {
      logger.error("a change to an agent cannot be used", { agentId, problem });
    }
    for (const { id } of served) if (this.#stored[id]?.isDisabled === true) served.disable(id);
    const sync = (agents: StoredAgents): Promise<void> => this.#sync(served, agents, logger);
    const { store } = this.#options;
    this.#stopFollowing = store.follow?.(
      (agents) => this.#inTurn(() => sync(agents)),
      (error) => logger.error("the changes to agents cannot be read or made", { error }),
    );
    const make = <T>(change: () => Promise<T>): Promise<T> =>
      this.#inTurn(async () => {
        if (store.follow !== undefined) await sync(await store.read());
        return change();
      });
    return {
      list: () => this.#list(served),
      add: (id, definition) => make(() => this.#add(served, id, definition)),
      replace: (id, definition) => make(() => this.#replace(served, id, definition)),
      edit: (id, changes) => make(() => this.#edit(served, id, changes)),
      enable: (id, isEnabled) => make(() => this.#enable(served, id, isEnabled)),
      remove: (id) => make(() => this.#remove(served, id)),
    };
  }

  /** Stops making changes of other servers. The server itself is not closed. */
  close(): void {
    this.#stopFollowing?.();
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const made = this.#changing.then(change);
    this.#changing = made.catch(() => undefined);
    return made;
  }

  /** Makes the changes that other servers have stored. One that cannot be used is logged. */
  async #sync(served: ServerAgents, stored: StoredAgents, logger: Logger): Promise<void> {
    for (const id of new Set([...Object.keys(this.#stored), ...Object.keys(stored)])) {
      if (isDeepStrictEqual(this.#stored[id], stored[id])) continue;
      try {
        await this.#apply(served, id, stored[id] ?? {});
        this.#problems.delete(id);
      } catch (error) {
        // It is tried again.
        if (isStorageFailure(error)) throw error;
        const problem = error instanceof Error ? error.message : String(error);
        this.#problems.set(id, problem);
        logger.error("a change to an agent cannot be used", { agentId: id, problem });
      }
      this.#stored = withAgent(this.#stored, id, stored[id]);
    }
  }

  async #apply(served: ServerAgents, id: string, next: StoredAgent): Promise<void> {
    const { isDisabled: _, ...before } = this.#stored[id] ?? {};
    const { isDisabled = false, ...definition } = next;
    const base = this.#base.get(id);
    if (base === undefined && Object.keys(definition).length === 0) {
      if (isServed(served, id)) await served.remove(id);
      return;
    }
    if (!isServed(served, id) || !isDeepStrictEqual(before, definition)) {
      await this.#serve(served, id, await this.#build(id, next));
    }
    if (isDisabled) served.disable(id);
    else served.enable(id);
  }

  #list(served: ServerAgents): readonly ManagedAgent[] {
    const running = Array.from(served, (agent) => ({ ...agent, ...this.#facts(agent.id) }));
    const ids = new Set(running.map(({ id }) => id));
    const others = [...this.#problems.keys()]
      .filter((id) => !ids.has(id))
      .map((id) => {
        const { name = id, description = "" } = this.#stored[id]?.definition ?? {};
        const facts = { isEnabled: false, isDefault: false, running: 0, ...this.#facts(id) };
        return { id, name: String(name), description: String(description), ...facts };
      });
    return [...running, ...others];
  }

  #facts(id: string): Pick<ManagedAgent, "kind" | "source" | "isChanged" | "problem"> {
    const base = this.#base.get(id);
    const { definition, changes } = this.#stored[id] ?? {};
    const problem = this.#problems.get(id);
    return {
      kind: definition === undefined ? kindIfAny(base?.entry) : kindIfAny(definition),
      source: base?.source ?? (definition === undefined ? "code" : "api"),
      isChanged: base !== undefined && (definition !== undefined || changes !== undefined),
      ...(problem !== undefined && { problem }),
    };
  }

  async #add(served: ServerAgents, id: string, definition: JsonDefinition): Promise<void> {
    if (isServed(served, id) || this.#stored[id] !== undefined) {
      throw new AgentChangeError("conflict", `there is an agent ${JSON.stringify(id)} already`);
    }
    await this.#define(served, id, { definition });
  }

  async #replace(served: ServerAgents, id: string, definition: JsonDefinition): Promise<void> {
    const { isDisabled } = this.#known(served, id);
    this.#requireFields(id);
    await this.#define(served, id, { definition, ...(isDisabled && { isDisabled }) });
  }

  /** Changes some fields: of the definition that is stored, or of the one in the configuration. */
  async #edit(served: ServerAgents, id: string, given: JsonDefinition): Promise<void> {
    const stored = this.#known(served, id);
    checkDefinition(given, this.#options);
    if (stored.definition !== undefined) {
      const definition = withoutNulls({ ...stored.definition, ...given });
      return this.#define(served, id, { ...stored, definition });
    }
    this.#requireFields(id);
    await this.#define(served, id, { ...stored, changes: { ...stored.changes, ...given } });
  }

  async #enable(served: ServerAgents, id: string, isEnabled: boolean): Promise<void> {
    const { isDisabled: _, ...stored } = this.#known(served, id);
    if (!isServed(served, id)) throw notServed(id);
    await this.#write(id, isEnabled ? stored : { ...stored, isDisabled: true });
    if (isEnabled) served.enable(id);
    else served.disable(id);
  }

  /** Removes an agent that was added, or the changes to one of the configuration. */
  async #remove(served: ServerAgents, id: string): Promise<void> {
    const stored = this.#known(served, id);
    const base = this.#base.get(id);
    if (base !== undefined) {
      if (Object.keys(stored).length === 0) {
        throw new AgentChangeError(
          "conflict",
          `the agent ${JSON.stringify(id)} was not added or changed here: remove it from the ${SOURCES[base.source]}, or disable it`,
        );
      }
      await this.#define(served, id, {});
      return served.enable(id);
    }
    if ([...served].some((agent) => agent.id === id && agent.isDefault)) {
      throw new AgentChangeError(
        "conflict",
        `the agent ${JSON.stringify(id)} answers at the root and cannot be removed; disable or replace it`,
      );
    }
    await this.#write(id, undefined);
    this.#problems.delete(id);
    if (isServed(served, id)) await served.remove(id);
  }

  /** Builds an agent, stores what was changed about it, and serves it. */
  async #define(served: ServerAgents, id: string, next: StoredAgent): Promise<void> {
    const agent = await this.#build(id, next);
    const before = this.#stored[id];
    await this.#write(id, next);
    try {
      await this.#serve(served, id, agent);
    } catch (error) {
      await this.#write(id, before);
      throw error;
    }
    this.#problems.delete(id);
  }

  #build(id: string, stored: StoredAgent): Promise<Agent> {
    const entry = effectiveEntry(stored, this.#base.get(id), this.#options);
    return mistakes(() => buildAgent(id, entry, this.#options.loadModule));
  }

  async #serve(served: ServerAgents, id: string, agent: Agent): Promise<void> {
    try {
      if (isServed(served, id)) await served.replace(agent);
      else await served.add(agent);
    } catch (error) {
      await agent[Symbol.asyncDispose]?.();
      throw error;
    }
  }

  /** An agent that is code is released when it is replaced, and could not be served again. */
  #requireFields(id: string): void {
    if (this.#stored[id]?.definition !== undefined) return;
    const kind = kindIfAny(this.#base.get(id)?.entry);
    if (kind !== "code" && kind !== "module") return;
    throw new AgentChangeError(
      "conflict",
      `the agent ${JSON.stringify(id)} is defined by code, which cannot be changed here: edit the code, or disable the agent`,
    );
  }

  async #write(id: string, next: StoredAgent | undefined): Promise<void> {
    const before = this.#stored[id];
    await this.#options.store.update((agents) => {
      if (isDeepStrictEqual(agents[id], before)) return withAgent(agents, id, next);
      throw new AgentChangeError(
        "conflict",
        `the agent ${JSON.stringify(id)} was changed at another server at the same time: look at it, and try again`,
      );
    });
    this.#stored = withAgent(this.#stored, id, next);
  }

  /** What is stored about an agent, which must exist. */
  #known(served: ServerAgents, id: string): StoredAgent {
    const stored = this.#stored[id];
    if (stored !== undefined) return stored;
    if (isServed(served, id)) return {};
    throw notServed(id);
  }
}

function withAgent(agents: StoredAgents, id: string, next: StoredAgent | undefined): StoredAgents {
  const { [id]: _, ...others } = agents;
  const isEmpty = next === undefined || Object.keys(next).length === 0;
  return isEmpty ? others : { ...others, [id]: next };
}

interface LoadedAgents {
  readonly agents: readonly Agent[];
  /** Pairs of an id and why the change to it cannot be used. */
  readonly problems: readonly (readonly [string, string])[];
}

function baseAgents({
  entries = {},
  agents = [],
}: AgentCatalogOptions): ReadonlyMap<string, BaseAgent> {
  const base = new Map<string, BaseAgent>(
    Object.entries(entries).map(([id, entry]) => [id, { source: "config", entry }]),
  );
  for (const entry of agents) {
    const id = entry.id ?? agentIdFrom(entry.info.name);
    if (base.has(id)) {
      throw new TypeError(
        `two agents have the id ${JSON.stringify(id)}: set another id on one of them`,
      );
    }
    base.set(id, { source: "command-line", entry });
  }
  return base;
}

async function loadAgents({
  options,
  base,
  stored,
}: {
  readonly options: AgentCatalogOptions;
  readonly base: ReadonlyMap<string, BaseAgent>;
  readonly stored: StoredAgents;
}): Promise<LoadedAgents> {
  const agents: Agent[] = [];
  const problems: (readonly [string, string])[] = [];
  for (const id of new Set([...base.keys(), ...Object.keys(stored)])) {
    const own = base.get(id);
    const { definition, changes } = stored[id] ?? {};
    const isChanged = definition !== undefined || changes !== undefined;
    // Disabled in the past, and not in the configuration any more.
    if (own === undefined && !isChanged) continue;
    try {
      const entry = effectiveEntry(stored[id] ?? {}, own, options);
      agents.push(await buildAgent(id, entry, options.loadModule));
    } catch (error) {
      if (!isChanged) throw error;
      problems.push([id, error instanceof Error ? error.message : String(error)]);
      if (own !== undefined) agents.push(await buildAgent(id, own.entry, options.loadModule));
    }
  }
  return { agents, problems };
}

/** The entry with what is stored about it. Throws if operators may not define that (any more). */
function effectiveEntry(
  { definition, changes }: StoredAgent,
  base: BaseAgent | undefined,
  rights: CatalogRights,
): AgentEntry {
  checkDefinition(definition ?? changes ?? {}, rights);
  if (definition !== undefined) return toEntry(definition);
  if (base === undefined) {
    throw new AgentChangeError("invalid", "the agent of these changes is not in the configuration");
  }
  if (changes === undefined || !isObject(base.entry)) return base.entry;
  return withoutNulls({
    ...(base.entry as object),
    ...(toEntry(changes) as object),
  }) as unknown as AgentEntry;
}

function withoutNulls(fields: JsonDefinition): JsonDefinition {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** Reports mistakes in a definition to the operator who has made them. */
async function mistakes<T>(build: () => T | Promise<T>): Promise<T> {
  try {
    return await build();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new AgentChangeError("invalid", error.message, { cause: error });
  }
}

function kindIfAny(entry: unknown): AgentKind {
  try {
    return kindOf(entry);
  } catch {
    return "code";
  }
}

function isServed(served: ServerAgents, id: string): boolean {
  return [...served].some((agent) => agent.id === id);
}

function notServed(id: string): AgentChangeError {
  return new AgentChangeError("unknown-agent", `there is no agent ${JSON.stringify(id)} here`);
}
