import { type Agent, CODER_DIALECTS } from "@convoke/protocol";
import type { HttpRequest } from "../../http/exchange.ts";

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
  readonly pattern: RegExp;
}

/** The first match is used: no task is called `metadata`. */
const ROUTES: readonly CoderRoute[] = [
  { operation: "createTask", method: "POST", pattern: /^\/tasks$/ },
  { operation: "streamMessage", method: "POST", pattern: /^\/message\/stream$/ },
  { operation: "listTaskMetadata", method: "GET", pattern: /^\/tasks\/metadata$/ },
  { operation: "getTaskMetadata", method: "GET", pattern: /^\/tasks\/(?<taskId>[^/]+)\/metadata$/ },
  { operation: "listCommands", method: "GET", pattern: /^\/listCommands$/ },
  { operation: "executeCommand", method: "POST", pattern: /^\/executeCommand$/ },
];

/** A request for a coding agent. */
export interface MatchedCoder {
  readonly request: HttpRequest;
  readonly operation: CoderOperation;
  /** The method that the path takes. */
  readonly method: "GET" | "POST";
  /** The task in the path, still percent-encoded. */
  readonly taskId: string;
}

/**
 * Finds the route of a request. Returns `undefined` if the agent is not a coding agent, or the path
 * is not one of its routes. `/tasks` belongs to REST with every other method.
 */
export function matchCoder(agent: Agent, request: HttpRequest): MatchedCoder | undefined {
  if (!isCodingAgent(agent)) return undefined;
  for (const { operation, method, pattern } of ROUTES) {
    const match = pattern.exec(request.path);
    if (match === null) continue;
    if (operation === "createTask" && request.method !== method) return undefined;
    return { request, operation, method, taskId: match.groups?.["taskId"] ?? "" };
  }
  return undefined;
}

/** An agent is a coding agent if it speaks the dialect of these routes. */
function isCodingAgent({ dialects = [] }: Agent): boolean {
  return dialects.some(({ uri }) => uri === CODER_DIALECTS.events);
}
