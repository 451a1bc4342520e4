import {
  A2AError,
  type CallCounts,
  type CapabilityQuery,
  type RegistryEntry,
  capabilityMismatch,
  invalidParams,
} from "@convoke/protocol";
import { type Egress, EgressError, createEgress } from "@convoke/egress";
import type { Logger, RegistryRecord, RegistryStore } from "@convoke/engine";
import { randomUUID } from "node:crypto";
import { HealthChecks, afterCheck, pauseMs } from "./health-checks.ts";
import { CardProblem, type CardSummary, findCard } from "./read-card.ts";

/** A registry of agents, which callers search and to which they add their own. */
export interface RegistryOptions {
  /**
   * Private hosts, addresses and networks whose agents can be registered. Default none, so that
   * callers cannot use the server to reach internal services.
   */
  readonly allow?: readonly string[];
  /** An entry is inactive after this time without a heartbeat, in milliseconds. Default 24 h. */
  readonly staleAfterMs?: number;
  /** An entry is removed after this time without a heartbeat, in milliseconds. Default 30 days. */
  readonly removeAfterMs?: number;
  /**
   * How often the card of an active agent is read to check its health, in milliseconds. Default
   * 5 minutes. An agent that does not answer is checked less often, at least once an hour.
   */
  readonly checkEveryMs?: number;
  /** How many entries there may be. Default 1000: a search reads them all. */
  readonly maxEntries?: number;
  /** How many entries one caller may have. Default 50. */
  readonly maxEntriesPerOwner?: number;
}

const HOUR_MS = 60 * 60_000;

const DEFAULTS = {
  allow: [],
  staleAfterMs: 24 * HOUR_MS,
  removeAfterMs: 30 * 24 * HOUR_MS,
  checkEveryMs: 5 * 60_000,
  maxEntries: 1000,
  maxEntriesPerOwner: 50,
} satisfies Required<RegistryOptions>;

/** Completes the options of a registry, and rejects values that make no sense. */
export function resolveRegistryOptions(options: RegistryOptions): Required<RegistryOptions> {
  const resolved = { ...DEFAULTS, ...options };
  const { allow: _, ...numbers } = resolved;
  for (const [name, value] of Object.entries(numbers)) {
    if (!(Number.isFinite(value) && value >= 1)) {
      throw new RangeError(`registry.${name} must be a number of at least 1, not ${value}`);
    }
  }
  if (resolved.removeAfterMs < resolved.staleAfterMs) {
    throw new RangeError("registry.removeAfterMs must not be less than registry.staleAfterMs");
  }
  return resolved;
}

/** An agent that a caller registers. */
export interface Registration {
  /** The caller, within its tenant. */
  readonly owner: string;
  /** The base URL of the agent. */
  readonly url: string;
  readonly name?: string;
  readonly tags: readonly string[];
}

export interface RegistrySearch extends CapabilityQuery {
  readonly state?: RegistryEntry["state"] | undefined;
  /** Whether the caller may see an entry. */
  readonly isVisible: (record: RegistryRecord) => boolean;
  /** The id of the last entry of the page before. Empty for the first page. */
  readonly after: string;
  readonly pageSize: number;
}

interface RegistryParts {
  readonly options: Required<RegistryOptions>;
  readonly store: RegistryStore;
  readonly logger: Logger;
}

/** How many registrations may read a card at the same time. */
const MAX_REGISTERING = 16;

/** How many callers of an agent are remembered. */
const MAX_REPORTERS = 100;

/** What one caller has reported counts at most so much; older reports count less. */
const MAX_REPORTS = 20;

const PAGE = 256;

/** The registered agents of a server, and the checks of their health. */
export class Registry {
  readonly #options: Required<RegistryOptions>;
  readonly #store: RegistryStore;
  readonly #logger: Logger;
  readonly #egress: Egress;
  readonly #checks: HealthChecks;
  readonly #closing = new AbortController();
  #registering = 0;

  constructor({ options, store, logger }: RegistryParts) {
    this.#options = options;
    this.#store = store;
    this.#logger = logger;
    this.#egress = createEgress({ allow: options.allow });
    this.#checks = new HealthChecks({ ...options, store, logger, egress: this.#egress });
  }

  /**
   * Reads the card of an agent and adds the agent, or changes the entry that its owner has for the
   * same URL. A registration is also a heartbeat.
   */
  async register(registration: Registration): Promise<RegistryRecord> {
    const { owner, url, name, tags } = registration;
    const card = await this.#readCard(url);
    const now = Date.now();
    const { cardUrl, description, skills } = card;
    const record: RegistryRecord = {
      id: randomUUID(),
      owner,
      url,
      cardUrl,
      name: name ?? card.name,
      description,
      tags,
      skills,
      registeredAt: new Date(now).toISOString(),
      heartbeatAt: new Date(now).toISOString(),
      health: afterCheck({ state: "unknown", checks: 0, answered: 0, failures: 0 }, card, now),
      nextCheckAt: now + pauseMs(0, this.#options.checkEveryMs),
      reports: {},
    };
    const { maxEntries, maxEntriesPerOwner } = this.#options;
    const limits = { perOwner: maxEntriesPerOwner, total: maxEntries };
    const stored = await this.#store.register(record, limits, (known) => {
      const { id, registeredAt, reports } = known;
      return { ...record, id, registeredAt, reports, health: afterCheck(known.health, card, now) };
    });
    if (typeof stored === "object") return stored;
    const isOwn = stored === "perOwner";
    throw new A2AError(
      "TooManyRequests",
      isOwn
        ? `you have ${maxEntriesPerOwner} agents in this registry; remove one first`
        : `this registry has ${maxEntries} agents, which is all it takes`,
      { details: { limit: isOwn ? "registryEntriesPerOwner" : "registryEntries" } },
    );
  }

  get(id: string): Promise<RegistryRecord | undefined> {
    return this.#store.get(id);
  }

  /** One page of the entries that match, and the id after which the next one begins. */
  async search(
    search: RegistrySearch,
  ): Promise<{ readonly records: readonly RegistryRecord[]; readonly next?: string }> {
    const { state, isVisible, after, pageSize } = search;
    const records: RegistryRecord[] = [];
    for (let last = after; ;) {
      const page = await this.#store.list(last, PAGE);
      for (const record of page) {
        const isMeant = state === undefined || this.#state(record) === state;
        if (!isMeant || !isVisible(record) || capabilityMismatch(record, search)) continue;
        if (records.length === pageSize) return { records, next: records.at(-1)!.id };
        records.push(record);
      }
      if (page.length < PAGE) return { records };
      last = page.at(-1)!.id;
    }
  }

  /** The agent is still there. */
  heartbeat(
    id: string,
    { openTasks }: Pick<RegistryEntry, "openTasks">,
  ): Promise<RegistryRecord | undefined> {
    const heartbeatAt = new Date(Date.now()).toISOString();
    return this.#store.update(id, (known) => ({
      ...known,
      heartbeatAt,
      ...(openTasks !== undefined && { openTasks }),
    }));
  }

  /** Counts how a call of an agent ended. The reports of one caller have a limited weight. */
  report(
    id: string,
    reporter: string,
    outcome: keyof CallCounts,
  ): Promise<RegistryRecord | undefined> {
    return this.#store.update(id, (known) => {
      const { [reporter]: mine = { succeeded: 0, failed: 0 }, ...others } = known.reports;
      const share = mine.succeeded + mine.failed < MAX_REPORTS ? 1 : 0.5;
      const kept = {
        succeeded: Math.floor(mine.succeeded * share),
        failed: Math.floor(mine.failed * share),
      };
      const latest = { ...kept, [outcome]: kept[outcome] + 1 };
      const remembered = Object.entries(others).slice(1 - MAX_REPORTERS);
      return { ...known, reports: { ...Object.fromEntries(remembered), [reporter]: latest } };
    });
  }

  remove(id: string): Promise<boolean> {
    return this.#store.delete(id);
  }

  /** Removes the entries of an owner, and what it has reported about those of others. */
  async erase(owner: string): Promise<void> {
    for (let last = ""; ;) {
      const page = await this.#store.list(last, PAGE);
      for (const { id, owner: registeredBy, reports } of page) {
        if (registeredBy === owner) await this.#store.delete(id);
        else if (Object.hasOwn(reports, owner)) await this.#store.update(id, withoutReports(owner));
      }
      if (page.length < PAGE) break;
      last = page.at(-1)!.id;
    }
    await this.#store.purge();
  }

  /** An entry as callers see it. */
  toEntry(record: RegistryRecord): RegistryEntry {
    const { owner: _, nextCheckAt: _at, reports, ...entry } = record;
    const all = Object.values(reports);
    return {
      ...entry,
      state: this.#state(record),
      calls: {
        succeeded: all.reduce((sum, { succeeded }) => sum + succeeded, 0),
        failed: all.reduce((sum, { failed }) => sum + failed, 0),
      },
    };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#checks.close();
    this.#egress.close();
    await this.#store.close();
  }

  #state({ heartbeatAt }: RegistryRecord): RegistryEntry["state"] {
    const silentMs = Date.now() - Date.parse(heartbeatAt);
    return silentMs < this.#options.staleAfterMs ? "active" : "inactive";
  }

  /** Reads the card of an agent that a caller has named. */
  async #readCard(url: string): Promise<CardSummary> {
    if (this.#registering >= MAX_REGISTERING) {
      throw new A2AError("TooManyRequests", "too many agents are being registered; try again", {
        details: { limit: "registrations" },
      });
    }
    this.#registering++;
    try {
      this.#egress.check(url);
      return await findCard(url, { egress: this.#egress, signal: this.#closing.signal });
    } catch (error) {
      if (error instanceof EgressError) {
        throw invalidParams("url", `cannot be registered: ${error.message}`);
      }
      if (!(error instanceof CardProblem)) throw error;
      this.#logger.info("an agent could not be registered", { url, error: error.cause ?? error });
      throw invalidParams("url", `has no agent card that can be used: ${error.message}`);
    } finally {
      this.#registering--;
    }
  }
}

function withoutReports(owner: string): (known: RegistryRecord) => RegistryRecord {
  return (known) => {
    const { [owner]: _, ...reports } = known.reports;
    return { ...known, reports };
  };
}
