import type { OperationName, ProtocolVersion } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import type { WireError } from "./errors.ts";
import type { Exchange, Transcript } from "./exchange.ts";

/** The three bindings, as options and reports name them. */
export const BINDINGS = ["jsonrpc", "rest", "grpc"] as const;

export type Binding = (typeof BINDINGS)[number];

/** The bindings whose bodies are JSON. They can carry wrong types and empty values, which protobuf cannot. */
export const JSON_BINDINGS: readonly Binding[] = ["jsonrpc", "rest"];

const CARD_NAMES: Readonly<Record<Binding, string>> = {
  jsonrpc: "JSONRPC",
  rest: "HTTP+JSON",
  grpc: "GRPC",
};

/** The binding that a card names, or `undefined` for a custom one. */
export function parseBinding(name: string): Binding | undefined {
  return BINDINGS.find((binding) => CARD_NAMES[binding] === name.toUpperCase());
}

/** Names in lower case. */
export type WireHeaders = Readonly<Record<string, string>>;

/** The interface that a client talks to. */
export interface Target {
  readonly binding: Binding;
  readonly version: ProtocolVersion;
  /** Absolute. */
  readonly url: string;
  /** Part of every request if the card names one for the interface (1.0 §8.3.2). Otherwise "". */
  readonly tenant: string;
  /** Sent with every request, for example credentials and required extensions. */
  readonly headers: WireHeaders;
}

/** One call in the JSON of its version, well-formed or not. */
export interface Call {
  readonly operation: OperationName;
  readonly params: unknown;
  /** Added to the headers of the target; `undefined` removes one of them. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Added to the URL, if the binding has one. */
  readonly query?: Readonly<Record<string, string>>;
}

export interface ResultResponse {
  readonly kind: "result";
  readonly result: unknown;
  /** Headers, or metadata. */
  readonly headers: WireHeaders;
  /** The whole body, if it is JSON. */
  readonly body: unknown;
  readonly exchange: Exchange;
}

export interface ErrorResponse {
  readonly kind: "error";
  readonly error: WireError;
  readonly headers: WireHeaders;
  readonly body: unknown;
  readonly exchange: Exchange;
}

export type WireResponse = ResultResponse | ErrorResponse;

/** A stream that the server has accepted. */
export interface OpenStream {
  readonly kind: "stream";
  readonly headers: WireHeaders;
  /** The events in the JSON of the version. Returning the generator closes the connection. */
  readonly events: AsyncGenerator<StreamItem, void>;
}

/** An event of a stream, or the error that ends it. */
export interface StreamItem {
  /** The event itself. */
  readonly json: unknown;
  /** The event with its envelope, as the binding sent it. */
  readonly envelope: unknown;
  /** The id of a server-sent event; "" if it has none. */
  readonly id: string;
  readonly error?: WireError;
}

/** What the requests of one client have in common. */
export interface WireSession {
  readonly target: Target;
  readonly signal: AbortSignal;
  readonly transcript: Transcript;
}

/**
 * Sends exactly what it is given over one binding in one version. It does not validate, retry or
 * repair anything, so that a test sees what the server does.
 */
export interface WireClient {
  readonly binding: Binding;
  readonly version: ProtocolVersion;
  call(call: Call): Promise<WireResponse>;
  open(call: Call): Promise<OpenStream | ErrorResponse>;
}

/** The headers of a call. 1.0 requires the version on every request; 0.3 does not know it (1.0 §3.6.1). */
export function requestHeaders(
  { version, headers }: Target,
  call: Pick<Call, "headers">,
): WireHeaders {
  const all = {
    ...(version === "1.0" && { "a2a-version": "1.0" }),
    ...headers,
    ...call.headers,
  };
  const kept = Object.entries(all).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return Object.fromEntries(kept);
}

/** The params with the tenant of the target (1.0 §8.3.2). */
export function withTenant(params: unknown, tenant: string): unknown {
  return tenant !== "" && isObject(params) ? { tenant, ...params } : params;
}
