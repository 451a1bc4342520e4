import { type Caller, invalidParams } from "@convoke/protocol";
import type { ServedAgent } from "@convoke/engine";
import type { App } from "../app.ts";
import { scopedCaller, unscopedOwner } from "../../guard/guard.ts";
import { type OwnerFilter, type RoleOperation, ownersFor } from "../../guard/roles.ts";
import type { HttpRequest } from "../../http/exchange.ts";

/** Who calls, and which tasks the request is about. */
export interface Admitted {
  /** Within its tenant. */
  readonly caller: Caller;
  /** Absent for the caller's own tasks. */
  readonly owners: OwnerFilter | undefined;
  /** Of several agents, the one whose tasks are meant. Absent for all. */
  readonly agent: ServedAgent | undefined;
}

/**
 * Checks that a caller may perform an operation, in the tenant and for the owners that the query
 * names. Acting for all owners is on record in the audit log. At the root it includes the tasks of
 * all agents; everything else is about the agent at that path.
 */
export async function admit(
  { agent, tenants, authorization, roles, audit }: App,
  operation: RoleOperation,
  asking: { readonly request: HttpRequest; readonly caller: Caller; readonly params?: unknown },
): Promise<Admitted> {
  const { query, path, agentPath, id: requestId } = asking.request;
  const caller = scopedCaller(asking.caller, query.get("tenant") ?? undefined, tenants);
  await authorization.check(caller, operation, asking.params);
  const owners = ownersFor(caller, operation, { asked: query.get("owner"), roles });
  if (owners !== undefined) {
    audit.record("access.elevated", { requestId, path, operation, ...unscopedOwner(caller.owner) });
  }
  const isForAll = agentPath === undefined && (owners !== undefined || query.get("agent") === "*");
  return { caller, owners, agent: isForAll ? undefined : agent };
}

const MAX_PAGE = 100;

const PAGE = 50;

export function parsePageSize(query: URLSearchParams): number {
  const size = Number(query.get("pageSize") ?? PAGE);
  if (Number.isInteger(size) && size >= 1 && size <= MAX_PAGE) return size;
  throw invalidParams("pageSize", `must be a whole number from 1 to ${MAX_PAGE}`);
}

/** A whole number in the query; `undefined` if it is not there. */
export function parseWhole(query: URLSearchParams, name: string): number | undefined {
  const given = query.get(name);
  if (given === null) return undefined;
  if (/^\d{1,9}$/.test(given)) return Number(given);
  throw invalidParams(name, "must be a whole number, 0 or more");
}

/** The parameter `id` of a path; `undefined` if the path has another pattern. */
export function pathId(pattern: RegExp, { path }: HttpRequest): string | undefined {
  const encoded = pattern.exec(path)?.groups?.["id"];
  try {
    return encoded === undefined ? undefined : decodeURIComponent(encoded);
  } catch {
    throw invalidParams("id", "is not percent-encoded UTF-8 in the path");
  }
}
