import type { ErrorReason } from "./errors.ts";
import type { PublicEvent } from "./events.ts";
import type { Message } from "./message.ts";
import type {
  CancelTaskRequest,
  CreatePushConfigRequest,
  DeletePushConfigRequest,
  GetPushConfigRequest,
  GetTaskRequest,
  ListPushConfigsRequest,
  ListTasksRequest,
  PushConfig,
  PushConfigPage,
  SendMessageRequest,
  SubscribeRequest,
  TaskPage,
} from "./requests.ts";
import type { Task } from "./task.ts";
import type { ProtocolVersion } from "./operations.ts";

/** W3C trace context: the caller's trace, and our span in it. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  /**
   * The flags of the caller's `traceparent` as two hex digits, such as "00" if the trace is not
   * sampled. Absent: "01", because a caller that passes a trace wants to see it.
   */
  readonly flags?: string;
  /** The caller's `tracestate` header, passed on unchanged. */
  readonly state?: string;
}

/** The headers that continue a trace (W3C Trace Context, version 00). */
export interface TraceHeaders {
  readonly traceparent: string;
  readonly tracestate?: string;
}

export function traceHeaders({ traceId, spanId, flags = "01", state }: TraceContext): TraceHeaders {
  return {
    traceparent: `00-${traceId}-${spanId}-${flags}`,
    ...(state !== undefined && { tracestate: state }),
  };
}

/** W3C Trace Context level 2: version 00, or a later version, which may have additional fields. */
const TRACEPARENT =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

/** The flags that the standard defines: sampled, and random. Others must not be passed on. */
const KNOWN_FLAGS = 0x03;

/** The trace in the headers of a request. `undefined` for a malformed header, as the standard says. */
export function parseTraceHeaders(
  traceparent: string | undefined,
  tracestate?: string,
): TraceContext | undefined {
  if (traceparent === undefined) return undefined;
  const [, traceId, spanId, given = ""] = TRACEPARENT.exec(traceparent.trim()) ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  const flags = (Number.parseInt(given, 16) & KNOWN_FLAGS).toString(16).padStart(2, "0");
  const state = parseState(tracestate);
  return {
    traceId,
    spanId,
    ...(flags !== "01" && { flags }),
    ...(state !== undefined && { state }),
  };
}

const MAX_MEMBERS = 32;

/** The limits up to which the standard requires propagation. */
const MAX_STATE = 512;

/** One member of `tracestate`: a key, optionally with a tenant, and a value. */
const MEMBER = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256}$/;

/** A malformed state is dropped, and the trace continues without it. */
function parseState(tracestate = ""): string | undefined {
  const members = tracestate
    .split(",")
    .map((member) => member.trim())
    .filter((member) => member !== "");
  if (members.length === 0 || members.length > MAX_MEMBERS) return undefined;
  const state = members.join(",");
  return state.length <= MAX_STATE && members.every((one) => MEMBER.test(one)) ? state : undefined;
}

/** An agent card as the agent wrote it. */
export type RawCard = Readonly<Record<string, unknown>>;

/** What a request carries in addition to its parameters. */
export interface RequestContext {
  /** URIs of extensions to activate, in addition to those of the connection. */
  readonly extensions?: readonly string[] | undefined;
  /** The trace of the request, and the span that makes it. */
  readonly trace?: TraceContext | undefined;
  /**
   * Additional headers; metadata on gRPC. They cannot replace credentials or headers of the
   * protocol: such names are rejected.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The transport of an interface, as cards name it. */
export type Binding = "JSONRPC" | "HTTP+JSON" | "GRPC";

/** The interface of an agent that was selected for the connection. */
export interface SelectedInterface {
  readonly url: string;
  readonly version: ProtocolVersion;
  readonly binding: Binding;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly context?: RequestContext | undefined;
}

export interface StreamOptions extends CallOptions {
  /** Resume after this event. */
  readonly lastEventId?: string | undefined;
}

/** Request and result of each operation with a single response, as model types. */
export interface Calls {
  readonly sendMessage: { readonly request: SendMessageRequest; readonly result: Task | Message };
  readonly getTask: { readonly request: GetTaskRequest; readonly result: Task };
  readonly listTasks: { readonly request: ListTasksRequest; readonly result: TaskPage };
  readonly cancelTask: { readonly request: CancelTaskRequest; readonly result: Task };
  readonly createPushConfig: {
    readonly request: CreatePushConfigRequest;
    readonly result: PushConfig;
  };
  readonly getPushConfig: { readonly request: GetPushConfigRequest; readonly result: PushConfig };
  readonly listPushConfigs: {
    readonly request: ListPushConfigsRequest;
    readonly result: PushConfigPage;
  };
  readonly deletePushConfig: { readonly request: DeletePushConfigRequest; readonly result: void };
  readonly getExtendedCard: { readonly request: undefined; readonly result: RawCard };
}

/** Request of each operation that streams its response. */
export interface Streams {
  readonly sendStreamingMessage: SendMessageRequest;
  readonly subscribeToTask: SubscribeRequest;
}

/** An item of a stream. */
export type StreamItem =
  /** An event and the id to resume after it; "" if the agent sends no ids. */
  | { readonly kind: "event"; readonly event: PublicEvent; readonly id: string }
  /** A sign of life without an event, such as a keep-alive. */
  | { readonly kind: "alive" };

/**
 * A connection to an agent. Requests and results are model types, whatever the version and binding.
 * A call is one attempt at one interface; a connection may switch to another interface if one
 * fails. It does not resume streams.
 *
 * Failures are a `RemoteError` (the agent returned an error) or a `ClientError` ("unreachable": no
 * connection, or it was lost; "unreadable": the response is not A2A; "unsupported": the version has
 * no such operation).
 */
export interface Connection {
  readonly card: RawCard;
  /** The interface in use. */
  readonly selectedInterface: SelectedInterface;
  /**
   * Whether the agent recognizes a message that it has already received, so that one which may have
   * arrived can be sent again. Default false.
   */
  readonly deduplicates?: boolean;
  call<Name extends keyof Calls>(
    operation: Name,
    request: Calls[Name]["request"],
    options?: CallOptions,
  ): Promise<Calls[Name]["result"]>;
  /**
   * Yields non-empty batches of the items that arrived together; an unreadable item is thrown
   * after the items before it. The request is sent on the first read. The stream ends when the
   * agent closes it, whether or not the task has ended. Leaving the loop closes the connection.
   */
  stream<Name extends keyof Streams>(
    operation: Name,
    request: Streams[Name],
    options?: StreamOptions,
  ): AsyncGenerator<readonly StreamItem[], void, undefined>;
  /** Closes idle connections. */
  close(): void;
}

/** The cause of a `ClientError`, for programs. */
export type ClientErrorKind =
  /** No connection, or it was lost. */
  | "unreachable"
  /** The egress policy forbids the address. */
  | "refused"
  /** There is no agent card at the address. */
  | "no-card"
  /** No signature of the card is valid, or it has none although one is required. */
  | "bad-signature"
  /** The card lists no interface that this client supports. */
  | "no-interface"
  /** The card points to an origin that the credentials are not meant for. */
  | "other-origin"
  /** A sign-in is needed first, or it failed. */
  | "sign-in"
  /** The response is not A2A. */
  | "unreadable"
  /** The agent's version has no such operation. */
  | "unsupported";

export interface ClientErrorOptions extends ErrorOptions {
  readonly sent?: boolean | undefined;
}

/** The agent cannot be found, reached or understood. */
export class ClientError extends Error {
  readonly kind: ClientErrorKind;
  /** False if the agent certainly did not receive the request; undefined if that is unknown. */
  readonly sent: boolean | undefined;

  constructor(kind: ClientErrorKind, message: string, options: ClientErrorOptions = {}) {
    const { sent, ...rest } = options;
    super(message, rest);
    this.name = "ClientError";
    this.kind = kind;
    this.sent = sent;
  }
}

export interface RemoteErrorOptions {
  readonly httpStatus: number;
  readonly code?: number | undefined;
  readonly reason?: ErrorReason | undefined;
  readonly data?: unknown;
  readonly retryAfterMs?: number | undefined;
  readonly processed?: false | undefined;
}

/** The agent returned an error. Message, code and data are the agent's own, and do not depend on the binding. */
export class RemoteError extends Error {
  /** The JSON-RPC code; absent if an intermediary such as a proxy answered. */
  readonly code: number | undefined;
  /** The kind of error, if it is known. Several kinds share a code. */
  readonly reason: ErrorReason | undefined;
  readonly data: unknown;
  /** On gRPC, the HTTP status of the same error. */
  readonly httpStatus: number;
  /** How long the agent asks to wait before a retry. */
  readonly retryAfterMs: number | undefined;
  /**
   * False if the agent certainly did not process the request; undefined if that is unknown: a proxy
   * that lost the agent answers with an error, too, after the agent has done the work.
   */
  readonly processed: false | undefined;

  constructor(message: string, options: RemoteErrorOptions) {
    super(message);
    this.name = "RemoteError";
    this.code = options.code;
    this.reason = options.reason;
    this.data = options.data;
    this.httpStatus = options.httpStatus;
    this.retryAfterMs = options.retryAfterMs;
    this.processed = options.processed;
  }
}
