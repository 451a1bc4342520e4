import type { RateClass } from "../../guard/rate-limit.ts";
import type { HttpRequest } from "../../http/exchange.ts";

/** What a route of the polling protocol does; metrics use these names. */
export type InboundOperation = "sendTask" | "getTask";

interface InboundRoute {
  readonly operation: InboundOperation;
  readonly method: "GET" | "POST";
  readonly rate: RateClass;
  readonly pattern: RegExp;
}

/** The first match is used: no task is called `send`. */
const ROUTES: readonly InboundRoute[] = [
  { operation: "sendTask", method: "POST", rate: "write", pattern: /^\/a2a\/tasks\/send$/ },
  {
    operation: "getTask",
    method: "GET",
    rate: "read",
    pattern: /^\/a2a\/tasks\/(?<taskId>[^/]+)$/,
  },
];

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
  for (const { operation, method, rate, pattern } of ROUTES) {
    const match = pattern.exec(request.path);
    if (match === null) continue;
    return { request, operation, method, rate, taskId: match.groups?.["taskId"] ?? "" };
  }
  return undefined;
}
