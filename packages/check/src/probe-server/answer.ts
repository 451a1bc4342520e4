import {
  A2AError,
  CODECS,
  type Codec,
  type ErrorReason,
  type Message,
  PROTO_CODECS,
  type PublicEvent,
  type Task,
} from "@convoke/protocol";
import type { SeenRequest, Speaking } from "./seen-request.ts";

/** How a response ends: regularly, by closing the connection, or not at all. */
type Ending = "end" | "cut" | "open";

/** A single result in the JSON of the version. */
export interface JsonAnswer {
  readonly kind: "json";
  readonly encode: (codec: Codec) => unknown;
  /** Added to those of a JSON response. HTTP only. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Instead of the id of the request. JSON-RPC only. */
  readonly id?: unknown;
  /** How long nothing is sent at all. */
  readonly delayMs?: number;
}

/** A stream of events. */
export interface StreamAnswer {
  readonly kind: "stream";
  readonly events: readonly PublicEvent[];
  /** Changes the JSON of an event. */
  readonly change?: (json: unknown, place: number) => unknown;
  /** Writes the frames in another way. HTTP only. */
  readonly write?: (frames: readonly string[]) => Iterable<string | Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Silence before the last event. */
  readonly pauseMs?: number;
  readonly ending?: Ending;
}

export interface ErrorAnswer {
  readonly kind: "error";
  readonly error: A2AError;
}

/** Any HTTP response. */
export interface RawAnswer {
  readonly kind: "raw";
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Iterable<string | Uint8Array>;
  readonly ending?: Ending;
}

export type Answer = JsonAnswer | StreamAnswer | ErrorAnswer | RawAnswer;

/** Where the agent of a probe is. */
export interface ProbePlace {
  readonly speaking: Speaking;
  /** The URL of the probe: its card and its interface are below it. */
  readonly base: string;
  /** The same at the other origin. */
  readonly foreign: string;
}

/** The answer to a request. */
export type Reply = (request: SeenRequest, place: ProbePlace) => Answer;

/** A send is answered with a task or a message, the calls about a task with the task. */
export function sends(answer: Task | Message): JsonAnswer {
  return { kind: "json", encode: (codec) => codec.encodeSendResult(answer) };
}

export function shows(task: Task): JsonAnswer {
  return { kind: "json", encode: (codec) => codec.encodeTask(task) };
}

export function streams(
  events: readonly PublicEvent[],
  how: Omit<StreamAnswer, "kind" | "events"> = {},
): StreamAnswer {
  return { kind: "stream", events, ...how };
}

export function rejects(reason: ErrorReason, detail: string): ErrorAnswer {
  return { kind: "error", error: new A2AError(reason, detail) };
}

export function raw(status: number, body: string, type = "application/json"): RawAnswer {
  return { kind: "raw", status, headers: { "content-type": type }, body: [body] };
}

/** 0.3 has one JSON format for JSON-RPC and another for REST and gRPC. */
export function codecFor({ binding, version }: Speaking): Codec {
  return binding === "jsonrpc" ? CODECS[version] : PROTO_CODECS[version];
}
