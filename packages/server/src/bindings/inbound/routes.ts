import type { RateClass } from "../../guard/rate-limit.ts";
import type { HttpRequest } from "../../http/exchange.ts";
import { pathPattern } from "../../http/path-pattern.ts";

/** What a route of the polling protocol does; metrics use these names. */
export type InboundOperation = "sendTask" | "getTask";

interface InboundRoute {
  readonly operation: InboundOperation;
  readonly method: "GET" | "POST";
  readonly rate: RateClass;
  readonly path: string;
}

/** The first match is used: no task is called `send`. */
export const INBOUND_ROUTES: readonly InboundRoute[] = [
  { operation: "sendTask", method: "POST", rate: "write", path: "/a2a/tasks/send" },
  { operation: "getTask", method: "GET", rate: "read", path: "/a2a/tasks/{taskId}" },
];

const PATTERNS = INBOUND_ROUTES.map((route) => ({ ...route, pattern: pathPattern(route.path) }));

/** A request of the polling protocol. */
export interface MatchedInbound {
  readonly request: HttpRequest;
  readonly operation: InboundOperation;
  /** The method that the path takes. */
  readonly method: "GET" | "POST";
  readonly rate: RateClass;
  /** The task in the path, still percent-encoded. */
  readonly taskId: string;
}

/** Finds the route of a request. Returns `undefined` for other paths. */
export function matchInbound(request: HttpRequest): MatchedInbound | undefined {
  for (const { operation, method, rate, pattern } of PATTERNS) {
    const match = pattern.exec(request.path);
    if (match === null) continue;
    return { request, operation, method, rate, taskId: match.groups?.["taskId"] ?? "" };
  }
  return undefined;
}
