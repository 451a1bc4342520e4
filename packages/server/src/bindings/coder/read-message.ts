import { type JsonRpcId, idOf, invalidParams, parseRequest } from "@convoke/protocol";
import { type JsonObject, isObject } from "@convoke/protocol/internal";
import { randomUUID } from "node:crypto";

/** A message to stream, as the parameters of `message/stream` in A2A 0.3. */
export interface StreamedMessage {
  readonly id: JsonRpcId;
  readonly params: JsonObject;
}

/**
 * Reads the body of `POST /message/stream`: a JSON-RPC request, its parameters alone, or
 * `{ taskId?, contextId?, userMessage, agentSettings? }`.
 */
export function readMessage(body: JsonObject): StreamedMessage {
  if (body["jsonrpc"] !== undefined) return { id: idOf(body), params: readParams(body) };
  if (body["message"] !== undefined) return { id: null, params: body };
  return { id: null, params: { message: readUserMessage(body) } };
}

function readParams(body: JsonObject): JsonObject {
  const { method, params } = parseRequest(body);
  if (method !== "message/stream") throw invalidParams("method", "must be message/stream");
  if (!isObject(params)) throw invalidParams("params", "must be an object");
  return params;
}

function readUserMessage({
  userMessage,
  taskId,
  contextId,
  agentSettings,
}: JsonObject): JsonObject {
  const ids = {
    ...(taskId !== undefined && { taskId }),
    ...(contextId !== undefined && { contextId }),
  };
  const settings = readSettings(agentSettings);
  if (isObject(userMessage) && Array.isArray(userMessage["parts"])) {
    const own = isObject(userMessage["metadata"]) ? userMessage["metadata"] : {};
    const metadata = { ...own, ...settings };
    const hasMetadata = Object.keys(metadata).length > 0;
    return {
      ...BLANK,
      messageId: randomUUID(),
      ...ids,
      ...userMessage,
      ...(hasMetadata && { metadata }),
    };
  }
  const message = { ...BLANK, messageId: randomUUID(), parts: [readPart(userMessage)], ...ids };
  return settings === undefined ? message : { ...message, metadata: settings };
}

const BLANK = { kind: "message", role: "user" } as const;

function readPart(userMessage: unknown): JsonObject {
  if (typeof userMessage === "string") return { kind: "text", text: userMessage };
  if (isObject(userMessage) && userMessage["kind"] === "tool-call-confirmation") {
    return { kind: "data", data: userMessage };
  }
  throw invalidParams(
    "userMessage",
    'must be a text, a message with parts, or {"kind": "tool-call-confirmation", "toolCallId", "approved"}',
  );
}

/** Settings as metadata of a message or a task. */
export function readSettings(settings: unknown): JsonObject | undefined {
  if (settings === undefined) return undefined;
  if (!isObject(settings)) throw invalidParams("agentSettings", "must be an object");
  return { coderAgent: { ...settings, kind: "agent-settings" } };
}
