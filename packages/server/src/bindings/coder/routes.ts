import { type Agent, CODER_DIALECTS } from "@convoke/protocol";
import type { RateClass } from "../../guard/rate-limit.ts";
import type { HttpRequest } from "../../http/exchange.ts";
import { pathPattern } from "../../http/path-pattern.ts";

/** What a route of a coding agent does; metrics use these names. */
export type CoderOperation =
  | "createTask"
  | "streamMessage"
  | "listTaskMetadata"
  | "getTaskMetadata"
  | "listCommands"
  | "executeCommand";

interface CoderRoute {
  readonly operation: CoderOperation;
  readonly method: "GET" | "POST";
  readonly rate: RateClass;
  readonly path: string;
}

/** The first match is used: no task is called `metadata`. */
export const CODER_ROUTES: readonly CoderRoute[] = [
  { operation: "createTask", method: "POST", rate: "write", path: "/tasks" },
  { operation: "streamMessage", method: "POST", rate: "stream", path: "/message/stream" },
  { operation: "listTaskMetadata", method: "GET", rate: "read", path: "/tasks/metadata" },
  { operation: "getTaskMetadata", method: "GET", rate: "read", path: "/tasks/{taskId}/metadata" },
  { operation: "listCommands", method: "GET", rate: "read", path: "/listCommands" },
  { operation: "executeCommand", method: "POST", rate: "write", path: "/executeCommand" },
];

const PATTERNS = CODER_ROUTES.map((route) => ({ ...route, pattern: pathPattern(route.path) }));

/** A request for a coding agent. */
export interface MatchedCoder {
  readonly request: HttpRequest;
  readonly operation: CoderOperation;
  /** The method that the path takes. */
  readonly method: "GET" | "POST";
  readonly rate: RateClass;
  /** The task in the path, still percent-encoded. */
  readonly taskId: string;
}

/**
 * Finds the route of a request. Returns `undefined` if the agent is not a coding agent, or the path
 * is not one of its routes. `/tasks` belongs to REST with every other method.
 */
export function matchCoder(agent: Agent, request: HttpRequest): MatchedCoder | undefined {
  if (!isCodingAgent(agent)) return undefined;
  for (const { operation, method, rate, pattern } of PATTERNS) {
    const match = pattern.exec(request.path);
    if (match === null) continue;
    if (operation === "createTask" && request.method !== method) return undefined;
    return { request, operation, method, rate, taskId: match.groups?.["taskId"] ?? "" };
  }
  return undefined;
}

/** An agent is a coding agent if it speaks the dialect of these routes. */
function isCodingAgent({ dialects = [] }: Agent): boolean {
  return dialects.some(({ uri }) => uri === CODER_DIALECTS.events);
}
