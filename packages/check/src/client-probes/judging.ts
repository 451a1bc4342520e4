import type { SeenRequest, Step } from "../probe-server/seen-request.ts";
import type { Visit } from "../probe-server/visit.ts";
import { Failed, Skipped, readableRequest } from "../wire/exchange.ts";
import { at } from "../wire/json.ts";

/** Either is a correct way to send a message. */
const SENDS: readonly Step[] = ["sendMessage", "sendStreamingMessage"];

/** Throws a failure that shows a request of the client, by default its last one, and its result. */
export function fail(expected: string, visit: Visit, request = visit.requests.at(-1)): never {
  throw new Failed(expected, { sent: requestText(request), received: resultText(visit) });
}

function requestText(request: SeenRequest | undefined): string {
  if (request === undefined) return "no request";
  const { method, path, headers, body, params, isForeign } = request;
  const where = isForeign ? " at the other origin" : "";
  const content = body || (params === undefined ? "" : JSON.stringify(params));
  return readableRequest(`${method} ${path}${where}`, headers, content);
}

/** What the client ended with, in words. */
function resultText({ result }: Visit): string {
  switch (result?.kind) {
    case undefined:
      return "the client reported no result";
    case "text":
      return `the client reported the text ${JSON.stringify(result.text)}`;
    case "error":
      return `the client reported the error ${JSON.stringify(result.error)}`;
    case "timeout":
      return `the client had not finished after ${result.afterMs / 1000} s`;
    case "unsupported":
      return "the client does not support this";
  }
}

/** The client has reported these texts. White space does not matter: clients print as they like. */
export function requireText(visit: Visit, ...texts: readonly string[]): void {
  const { result } = visit;
  if (result === undefined) throw new Skipped(NO_RESULT);
  const reported = result.kind === "text" ? bare(result.text) : undefined;
  for (const text of texts) {
    if (reported?.includes(bare(text)) === true) continue;
    fail(`the client reports the text ${JSON.stringify(text)}`, visit);
  }
}

const NO_RESULT = "the client reported no result, so it is not known what it received";

function bare(text: string): string {
  return text.replaceAll(/\s+/g, "");
}

/** The client has reported an error, in time. */
export function requireError(visit: Visit): void {
  if (visit.result === undefined) throw new Skipped(NO_RESULT);
  if (visit.result.kind !== "error") fail("the client reports an error", visit);
}

/** The client has ended in time, with any result. */
export function requireEnd(visit: Visit): void {
  if (visit.result === undefined) throw new Skipped(NO_RESULT);
  if (visit.result.kind === "timeout") fail("the client ends", visit);
}

/** The first request of these operations. */
export function requireCall(visit: Visit, ...steps: readonly Step[]): SeenRequest {
  const [first] = visit.calls(...steps);
  return first ?? fail(`a request for ${steps.join(" or ")}`, visit);
}

/** All messages of the client, at least that many. */
export function requireMessages(visit: Visit, count = 1): readonly SeenRequest[] {
  const calls = visit.calls(...SENDS);
  if (calls.length < count) fail(count === 1 ? "a message" : `${count} messages`, visit);
  return calls;
}

/** The first message of the client. */
export function requireMessage(visit: Visit): SeenRequest {
  return requireMessages(visit)[0] ?? fail("a message", visit);
}

/** A field of the message in a request; every dialect spells these names alike. */
export function messageField({ params }: SeenRequest, name: string): unknown {
  return at(params, "message", name);
}

/** Fails unless the condition holds. */
export function require(
  condition: boolean,
  expected: string,
  visit: Visit,
  request?: SeenRequest,
): void {
  if (!condition) fail(expected, visit, request);
}
