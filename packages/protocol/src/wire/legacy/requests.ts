import { EXTENSIONS } from "../../extensions/extensions.ts";
import type { JsonRpcRequest } from "../../framing/jsonrpc.ts";
import { type JsonObject, isObject } from "../../internal/json.ts";
import { fieldsOf, fromLegacyPart, toolPart } from "./messages.ts";
import type { Calls, RawCard, Streams } from "../../model/connection.ts";
import type { WireDialect } from "../codec/codec.ts";

// Legacy forms that clients send: what a server still accepts unless it is strict. It responds in
// the official form.

const SEND_METHODS: ReadonlySet<string> = new Set(["message/send", "message/stream"]);

/**
 * Converts a legacy request of A2A 0.3 wherever the legacy form is unambiguous. `accept` is the
 * value of the `Accept` header.
 */
export function fromLegacyRequest(
  request: JsonRpcRequest,
  accept: string | undefined,
): JsonRpcRequest {
  const { method, params } = request;
  if (!isObject(params)) return request;
  if (method === "tasks/get") return toSubscription(request, params, accept);
  const { message } = params;
  if (!isObject(message) || !SEND_METHODS.has(method)) return request;
  const converted = convertMessage(message);
  return converted === message
    ? request
    : { ...request, params: { ...params, message: converted } };
}

/** `tasks/get {taskId}` of a client that accepts an event stream is a subscription. */
function toSubscription(
  request: JsonRpcRequest,
  { id, taskId, ...rest }: JsonObject,
  accept: string | undefined,
): JsonRpcRequest {
  const isSubscription =
    id === undefined && taskId !== undefined && accept?.includes("text/event-stream") === true;
  return isSubscription
    ? { ...request, method: "tasks/resubscribe", params: { ...rest, id: taskId } }
    : request;
}

/** Tool parts and input requests become data parts. Returns the same object if there are none, as in most requests. */
function convertMessage(message: JsonObject): JsonObject {
  const { inputRequest, parts } = message;
  if (!Array.isArray(parts)) return message;
  const converted = (parts as readonly unknown[]).map(fromLegacyPart);
  if (inputRequest === undefined) {
    return converted.every((part, index) => part === parts[index])
      ? message
      : { ...message, parts: converted };
  }
  const { inputRequest: _, ...rest } = message;
  return { ...rest, parts: [...converted, toolPart("input-request", inputRequest)] };
}

/**
 * The task that a converted send request may answer although its message has no `taskId`: a tool
 * result answers the only task that it references. The server has to check that this task waits
 * for the caller; `undefined` if the request does not have this form.
 */
export function answeredTaskId({ method, params }: JsonRpcRequest): string | undefined {
  if (!SEND_METHODS.has(method)) return undefined;
  const { taskId, referenceTaskIds, parts } = fieldsOf(fieldsOf(params)["message"]);
  if (taskId !== undefined || !Array.isArray(referenceTaskIds)) return undefined;
  if (!Array.isArray(parts) || !parts.some(isToolPart)) return undefined;
  const [only, ...others] = referenceTaskIds as readonly unknown[];
  return typeof only === "string" && others.length === 0 ? only : undefined;
}

function isToolPart(part: unknown): boolean {
  return fieldsOf(fieldsOf(part)["metadata"])[EXTENSIONS.clientTools.uri] !== undefined;
}

/** A legacy form that an agent uses and that clients report (1.0 §A.2). */
type LegacyForm =
  /** Its 1.0 responses have a `kind`, which 1.0 removed. */
  | "kind"
  /** Its 0.3 responses have no `kind`, which 0.3 requires. */
  | "no-kind"
  /** Its card has `supportsAuthenticatedExtendedCard`, which 1.0 calls `capabilities.extendedAgentCard`. */
  | "extended-card";

/** The operations that respond with a task, a message or an event, where versions differ in `kind`. */
const WITH_KIND: ReadonlySet<keyof Calls | keyof Streams> = new Set([
  "sendMessage",
  "getTask",
  "cancelTask",
  "sendStreamingMessage",
  "subscribeToTask",
]);

/** The legacy form in a response before it is decoded, if any. */
export function legacyFormInResponse(
  operation: keyof Calls | keyof Streams,
  dialect: WireDialect,
  response: unknown,
): LegacyForm | undefined {
  if (!WITH_KIND.has(operation) || typeof response !== "object" || response === null) {
    return undefined;
  }
  if (dialect === "1.0" && "kind" in response) return "kind";
  return dialect === "0.3" && !("kind" in response) ? "no-kind" : undefined;
}

/** The legacy form in a card, if any. A card for both versions has both names, each for its readers. */
export function legacyFormInCard(card: RawCard): LegacyForm | undefined {
  const { supportedInterfaces, capabilities, supportsAuthenticatedExtendedCard } = card;
  if (supportedInterfaces === undefined) return undefined;
  if (isObject(capabilities) && "extendedAgentCard" in capabilities) return undefined;
  return supportsAuthenticatedExtendedCard === true ? "extended-card" : undefined;
}
