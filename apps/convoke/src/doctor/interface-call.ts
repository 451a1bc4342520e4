import { randomUUID } from "node:crypto";
import type { CardInterface } from "@convoke/client";
import {
  ERRORS,
  type ErrorReason,
  OPERATIONS,
  type OperationName,
  type ProtocolVersion,
  REST_ROUTES,
} from "@convoke/protocol";
import { type JsonObject, isObject } from "@convoke/protocol/internal";
import { listField, objectField, textField } from "../terminal/json-fields.ts";
import type { DoctorCall, Reply } from "./requests.ts";

/** An interface of a card that is called over HTTP with JSON. */
export interface Target {
  readonly url: string;
  readonly binding: "JSONRPC" | "HTTP+JSON";
  readonly version: ProtocolVersion;
  readonly tenant: string;
  /** The header that activates the extensions that the agent requires. */
  readonly headers: Readonly<Record<string, string>>;
  /** Such as `JSONRPC 1.0 at https://agent.example/a2a`. */
  readonly name: string;
}

/** The interface as a target; `undefined` for gRPC, unknown bindings and unknown versions. */
export function toTarget(
  card: JsonObject,
  cardUrl: string,
  { url, binding, version, tenant = "" }: CardInterface,
): Target | undefined {
  if (binding !== "JSONRPC" && binding !== "HTTP+JSON") return undefined;
  const known = /^1\.0\b/.test(version) ? "1.0" : /^0\.3\b/.test(version) ? "0.3" : undefined;
  if (known === undefined || !URL.canParse(url, cardUrl)) return undefined;
  const { href } = new URL(url, cardUrl);
  const headers = extensionHeaders(card, known);
  return {
    url: href,
    binding,
    version: known,
    tenant,
    headers,
    name: `${binding} ${known} at ${url}`,
  };
}

function extensionHeaders(card: JsonObject, version: ProtocolVersion) {
  const uris = listField(card["capabilities"], "extensions")
    .filter((entry) => isObject(entry) && entry["required"] === true)
    .map((entry) => textField(entry, "uri"));
  const name = version === "1.0" ? "a2a-extensions" : "x-a2a-extensions";
  return uris.length === 0 ? {} : { [name]: uris.join(",") };
}

/** A task that no agent has. */
const NO_TASK = randomUUID();

type SafeOperation = "getTask" | "cancelTask" | "listPushConfigs" | "getExtendedCard";

/** A request about a task that does not exist: it has no effect, and every agent must answer it. */
export function safeCall(target: Target, operation: SafeOperation, padding = ""): DoctorCall {
  const isList = operation === "listPushConfigs" && target.version === "1.0";
  const ids = operation === "getExtendedCard" ? {} : isList ? { taskId: NO_TASK } : { id: NO_TASK };
  const metadata = padding !== "" && { metadata: { padding } };
  if (target.binding === "JSONRPC") return rpcCall(target, operation, { ...ids, ...metadata });
  return restCall(target, operation, metadata || {});
}

/** A message from the user, as a stream of events. Not for REST of 0.3, whose body has several forms. */
export function streamCall(target: Target, text: string): DoctorCall {
  const messageId = randomUUID();
  const message =
    target.version === "1.0"
      ? { role: "ROLE_USER", messageId, parts: [{ text }] }
      : { kind: "message", role: "user", messageId, parts: [{ kind: "text", text }] };
  const call = target.binding === "JSONRPC" ? rpcCall : restCall;
  const { headers, ...rest } = call(target, "sendStreamingMessage", { message });
  return { ...rest, headers: { ...headers, accept: "text/event-stream" } };
}

/** Cancels the task that a stream has started. */
export function cancelCall(target: Target, taskId: string): DoctorCall {
  const call = target.binding === "JSONRPC" ? rpcCall : restCall;
  return call(target, "cancelTask", { id: taskId });
}

function rpcCall(target: Target, operation: OperationName, params: JsonObject): DoctorCall {
  const { method, methods03 } = OPERATIONS[operation];
  return {
    url: target.url,
    headers: requestHeaders(target, "application/json"),
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: "convoke-doctor",
      method: target.version === "1.0" ? method : methods03[0],
      params: { ...params, ...(target.tenant !== "" && { tenant: target.tenant }) },
    }),
  };
}

function restCall(target: Target, operation: OperationName, params: JsonObject): DoctorCall {
  const { id = NO_TASK, ...body } = params;
  const { methods, paths } = REST_ROUTES[operation];
  const tenant = target.tenant === "" ? "" : `/${encodeURIComponent(target.tenant)}`;
  const path = paths[target.version].replace("{taskId}", encodeURIComponent(String(id)));
  const [method] = methods;
  const type = target.version === "1.0" ? "application/a2a+json" : "application/json";
  return {
    method,
    url: `${target.url.replace(/\/+$/, "")}${tenant}${path}`,
    headers: requestHeaders(target, method === "POST" ? type : undefined),
    ...(method === "POST" && { body: JSON.stringify(body) }),
  };
}

function requestHeaders({ version, headers }: Target, type: string | undefined) {
  return {
    accept: "application/json",
    ...headers,
    ...(type !== undefined && { "content-type": type }),
    ...(version === "1.0" && { "a2a-version": version }),
  };
}

/** What a response means, as far as it concerns the connection and not the task. */
export interface Answer {
  readonly kind:
    | "understood"
    | "unknown-method"
    | "redirect"
    | "unauthorized"
    | "too-large"
    | "strange";
  /** Why the agent rejected the request. */
  readonly reason?: ErrorReason | undefined;
}

/** Reads a response. An A2A error is a good answer: the server understood the question. */
export function toAnswer({ binding }: Pick<Target, "binding">, { status, text }: Reply): Answer {
  if (status >= 300 && status < 400) return { kind: "redirect" };
  if (status === 401 || status === 403) return { kind: "unauthorized" };
  if (status === 413) return { kind: "too-large" };
  const body = parseJson(text);
  if (!isObject(body)) return { kind: "strange" };
  if (binding === "JSONRPC" && !("jsonrpc" in body)) return { kind: "strange" };
  const reason = errorReason(body);
  // Web frameworks answer unknown routes with JSON of their own.
  const isForeign = binding === "HTTP+JSON" && status === 404 && reason === undefined;
  if (isForeign || reason === "MethodNotFound" || reason === "VersionNotSupported") {
    return { kind: "unknown-method", reason };
  }
  const isAnswer = reason !== undefined || status < 400 || isObject(body["error"]);
  return { kind: isAnswer ? "understood" : "strange", reason };
}

const REASONS = Object.keys(ERRORS) as readonly ErrorReason[];

/** The reason of an error: by its JSON-RPC code, or by the name in the details of REST 1.0. */
export function errorReason(body: JsonObject): ErrorReason | undefined {
  const error = isObject(body["error"]) ? body["error"] : body;
  const names = listField(error, "details").map((detail) =>
    textField(detail, "reason").replaceAll("_", "").toLowerCase(),
  );
  return REASONS.find(
    (reason) => ERRORS[reason].code === error["code"] || names.includes(reason.toLowerCase()),
  );
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The member of a card's capabilities, in either version. */
export function promises(card: JsonObject, capability: string): boolean {
  return objectField(card, "capabilities")[capability] === true;
}
