import type { DatabaseFacts } from "@convoke/backends/postgres";
import type { Replica } from "@convoke/engine";
import { isLoopbackHost } from "@convoke/protocol/internal";
import type { ServeSettings } from "./settings.ts";

type Facts = Pick<DatabaseFacts, "label" | "schema" | "stored" | "isNotifying">;

/** Where the tasks are in a database, and among which servers this one is. */
export async function readPlaceInDatabase(
  url: string,
  readReplicas: () => Promise<readonly Replica[]>,
): Promise<string> {
  const { readDatabaseSummary } = await import("@convoke/backends/postgres");
  try {
    return placeInDatabase(await readDatabaseSummary(url), await readReplicas());
  } catch {
    // The server has just used the database: what is wrong now is in its log, and on /ready.
    return "tasks in Postgres, which does not answer at the moment";
  }
}

export function placeInDatabase(facts: Facts, replicas: readonly Replica[]): string {
  const { label, schema, stored, isNotifying } = facts;
  const version = stored === undefined ? "" : `, version ${stored.version}`;
  const own = replicas.find(({ isSelf }) => isSelf)?.id;
  const up = replicas.filter(({ leaseMs }) => leaseMs > 0).length;
  const servers = up === 1 ? "1 server is" : `${up} servers are`;
  // As behind a pooler.
  const looks = isNotifying ? "" : "; no notifications arrive, so servers look every 250 ms";
  return `tasks in Postgres at ${label} (schema ${schema}${version}), replica ${own}; ${servers} up${looks}`;
}

/** Why the cards of servers behind a load balancer would name different addresses. */
export function addressWarning(settings: ServeSettings): string | undefined {
  const { database, publicUrl, trustProxy, host } = settings;
  const isKnown = publicUrl !== undefined || trustProxy || isLoopbackHost(host);
  if (database === undefined || isKnown) return undefined;
  return "PUBLIC_URL is not set, so the card names the address at which this one server was reached: set it to the address that callers use, the same for all servers";
}
