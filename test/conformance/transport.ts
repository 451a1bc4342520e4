import type { OperationName, ProtocolVersion } from "@convoke/protocol";

export type Headers = Readonly<Record<string, string>>;

/** One call, in the JSON of its version. */
export interface Call {
  readonly operation: OperationName;
  readonly params: object;
  /** Headers, or metadata, beyond the ordinary ones. */
  readonly headers?: Headers;
  /** Is told the headers of the answer, by their names in lower case. */
  readonly onAnswer?: ((headers: Headers) => void) | undefined;
}

/** One event of a stream, still in the JSON of its version. */
export interface WireEvent {
  /** The cursor of the event. */
  readonly id: string;
  readonly json: unknown;
}

/**
 * How JSON travels on one binding, with nothing of our own client in between. What a server
 * refuses is thrown as a `Refusal`.
 */
export interface Transport {
  readonly binding: "jsonrpc" | "rest" | "grpc";
  readonly version: ProtocolVersion;
  call(call: Call): Promise<unknown>;
  open(call: Call): AsyncGenerator<WireEvent, void>;
}

/** The server that is spoken to; its address is known once the tests run. */
export interface Peer {
  readonly url: string;
  /** Whose certificates are trusted, where it has one. */
  readonly ca?: string;
}

/** 1.0 demands the version on every request, and 0.3 knows none (1.0 §3.6.1). */
export function versionHeaders(version: ProtocolVersion): Headers {
  return version === "1.0" ? { "a2a-version": "1.0" } : {};
}
