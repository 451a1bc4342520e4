import { type CapabilityQuery, type RegistryEntry, capabilityMismatch } from "@convoke/protocol";

/** Which agent is needed. Capabilities are a filter: they decide who can do it, not who does it best. */
export interface RouteQuery extends CapabilityQuery {
  /** Agents that must not be chosen, by id, name or URL. */
  readonly exclude?: readonly string[] | undefined;
  /** The URL of the agent that asks, which is not its own candidate. */
  readonly self?: string | undefined;
}

/** One part of a score. */
export interface RouteFactor {
  readonly name: "reputation" | "workload" | "uptime" | "recency";
  readonly points: number;
  /** The most points that this part can have. */
  readonly most: number;
  /** What the points are based on. */
  readonly reason: string;
}

/** An agent that can do what is needed. */
export interface RankedAgent {
  readonly agent: RegistryEntry;
  /** The sum of its factors, from 0 to 100. */
  readonly score: number;
  readonly factors: readonly RouteFactor[];
}

/** An agent that cannot be chosen, and why. */
export interface ExcludedAgent {
  readonly agent: RegistryEntry;
  readonly reason: string;
}

/** The candidates for a query, the best first, and those that were left out. */
export interface Route {
  readonly ranked: readonly RankedAgent[];
  readonly excluded: readonly ExcludedAgent[];
}

/**
 * Ranks the agents of a registry for a query. The score adds up reputation (40: the share of calls
 * that succeeded, as callers report it), workload (30: open tasks at the last heartbeat), uptime
 * (20: the share of health checks that succeeded) and recency (10: the time since the last
 * heartbeat). What is not known counts half.
 *
 * @example
 * const { ranked, excluded } = routeToAgent({ skill: "translate" }, entries);
 * console.log(ranked[0]?.agent.url, ranked[0]?.factors.map(({ reason }) => reason));
 */
export function routeToAgent(
  query: RouteQuery,
  candidates: readonly RegistryEntry[],
  now: number = Date.now(),
): Route {
  const ranked: RankedAgent[] = [];
  const excluded: ExcludedAgent[] = [];
  for (const agent of candidates) {
    const reason = exclusion(agent, query);
    if (reason === undefined) ranked.push(rank(agent, now));
    else excluded.push({ agent, reason });
  }
  // Among equals the order must not depend on that of the candidates.
  ranked.sort((a, b) => b.score - a.score || (a.agent.id < b.agent.id ? -1 : 1));
  return { ranked, excluded };
}

/** An agent whose last checks all failed is not there, however good it was before. */
const MAX_FAILURES = 3;

function exclusion(agent: RegistryEntry, query: RouteQuery): string | undefined {
  const { self, exclude = [] } = query;
  if (self !== undefined && isSameUrl(agent.url, self)) return "it is the agent that asks";
  const isNamed = (name: string): boolean =>
    name === agent.id || name === agent.name || isSameUrl(agent.url, name);
  if (exclude.some(isNamed)) return "it was excluded";
  const mismatch = capabilityMismatch(agent, query);
  if (mismatch !== undefined) return mismatch;
  if (agent.state === "inactive") return `it has sent no heartbeat since ${agent.heartbeatAt}`;
  const { failures } = agent.health;
  return failures >= MAX_FAILURES ? `its last ${failures} health checks failed` : undefined;
}

function isSameUrl(one: string, other: string): boolean {
  return one.replace(/\/+$/, "") === other.replace(/\/+$/, "");
}

function rank(agent: RegistryEntry, now: number): RankedAgent {
  const factors = [reputation(agent), workload(agent), uptime(agent), recency(agent, now)];
  return { agent, score: factors.reduce((sum, { points }) => sum + points, 0), factors };
}

/** A share that is a half without observations, and certain only after many. */
function shareOf(good: number, all: number): number {
  return (good + 1) / (all + 2);
}

function reputation({ calls: { succeeded, failed } }: RegistryEntry): RouteFactor {
  const all = succeeded + failed;
  const reason = all === 0 ? "no calls were reported" : `${succeeded} of ${all} calls succeeded`;
  return { name: "reputation", points: 40 * shareOf(succeeded, all), most: 40, reason };
}

function workload({ openTasks }: RegistryEntry): RouteFactor {
  const share = openTasks === undefined ? 0.5 : 1 / (1 + openTasks);
  const reason =
    openTasks === undefined ? "it does not say how busy it is" : `it has ${openTasks} open tasks`;
  return { name: "workload", points: 30 * share, most: 30, reason };
}

function uptime({ health: { answered, checks } }: RegistryEntry): RouteFactor {
  const reason =
    checks === 0 ? "it was not checked yet" : `it answered ${answered} of ${checks} checks`;
  return { name: "uptime", points: 20 * shareOf(answered, checks), most: 20, reason };
}

const DAY_MS = 24 * 60 * 60_000;

const MINUTE_MS = 60_000;

function recency({ heartbeatAt }: RegistryEntry, now: number): RouteFactor {
  const ageMs = Math.max(0, now - Date.parse(heartbeatAt));
  const share = Math.max(0, 1 - ageMs / DAY_MS);
  const reason = `its last heartbeat was ${Math.floor(ageMs / MINUTE_MS)} minutes ago`;
  return { name: "recency", points: 10 * share, most: 10, reason };
}
