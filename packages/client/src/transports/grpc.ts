import {
  type CallOptions,
  ClientError,
  type Codec,
  ERRORS,
  OPERATIONS,
  type OperationName,
  PROTO_CODECS,
  RemoteError,
  type SelectedInterface,
  type StreamItem,
  type StreamOptions,
} from "@convoke/protocol";
import { GRPC_SERVICES, type GrpcMethod, decodeStatusDetails } from "@convoke/protocol/grpc";
import { orAborted } from "@convoke/protocol/internal";
import { type Credentials, redact } from "../auth/credentials.ts";
import { requestHeaders } from "../auth/headers.ts";
import type { ChosenInterface } from "../cards/choose-interface.ts";
import type { GrpcChannel, GrpcEnd } from "./http2-channel.ts";
import type { AnswerHead, DecodeEvent, Transport } from "./transport.ts";
import {
  errorReasonFromStatus,
  errorReasonInDetails,
  grpcStatusName,
  isOverload,
  parseError,
  retryDelayIn,
} from "./errors.ts";

export interface GrpcTransportOptions {
  readonly chosen: ChosenInterface;
  readonly channel: GrpcChannel;
  readonly credentials?: Credentials | undefined;
  readonly extensions?: readonly string[] | undefined;
  readonly onHead: (headers: AnswerHead) => void;
}

/** How a call ended; without an error it succeeded. */
interface Outcome {
  readonly error: RemoteError | undefined;
  /** The `www-authenticate` metadata. */
  readonly asks: string;
}

/** gRPC: `a2a.v1` in 0.3, `lf.a2a.v1` in 1.0. Its messages are the binary form of REST's ProtoJSON. */
export class GrpcTransport implements Transport {
  readonly speaking: SelectedInterface;
  readonly codec: Codec;
  readonly #tenant: string | undefined;
  readonly #channel: GrpcChannel;
  readonly #credentials: Credentials | undefined;
  readonly #extensions: readonly string[] | undefined;
  readonly #onHead: (headers: AnswerHead) => void;

  constructor({ chosen, channel, credentials, extensions, onHead }: GrpcTransportOptions) {
    const { url, version, tenant } = chosen;
    this.speaking = { url, version, binding: "GRPC" };
    this.codec = PROTO_CODECS[version];
    this.#tenant = tenant;
    this.#channel = channel;
    this.#credentials = credentials;
    this.#extensions = extensions;
    this.#onHead = onHead;
  }

  async call(
    operation: OperationName,
    params: unknown,
    options: CallOptions = {},
  ): Promise<unknown> {
    let result: unknown;
    let count = 0;
    for await (const message of this.#exchange(operation, params, options)) {
      result = message;
      count += 1;
    }
    if (count === 1) return result;
    throw this.#unreadable(`has ${count} messages instead of one`);
  }

  async *stream(
    operation: OperationName,
    params: unknown,
    decode: DecodeEvent,
    options: StreamOptions = {},
  ): AsyncGenerator<readonly StreamItem[], void, undefined> {
    for await (const message of this.#exchange(operation, params, options)) {
      const { result, id } = takeCursor(message);
      yield [{ kind: "event", event: decode(result), id }];
    }
  }

  /** The messages of the response. An unauthenticated call is repeated once if credentials can be renewed. */
  async *#exchange(
    operation: OperationName,
    params: unknown,
    options: StreamOptions,
  ): AsyncGenerator<unknown, void, undefined> {
    const method = this.#findMethod(operation);
    const tenant = this.#tenant === undefined ? {} : { tenant: this.#tenant };
    const message = method.encodeRequest({ ...(params as object), ...tenant });
    const credentials = this.#credentials;
    for (let mayRenew = true; ; mayRenew = false) {
      const sent = credentials
        ? await orAborted(credentials.headersFor(this.speaking.url), options.signal)
        : {};
      const { error, asks } = yield* this.#attempt({ method, message, sent, options });
      if (error === undefined) return;
      if (credentials === undefined || error.reason !== "Unauthenticated" || !mayRenew) throw error;
      if (!(await orAborted(credentials.renew({ asks, sent }), options.signal))) throw error;
    }
  }

  async *#attempt({
    method,
    message,
    sent,
    options: { signal, lastEventId, context },
  }: {
    readonly method: GrpcMethod;
    readonly message: Uint8Array;
    readonly sent: Readonly<Record<string, string>>;
    readonly options: StreamOptions;
  }): AsyncGenerator<unknown, Outcome, undefined> {
    const answer = this.#channel.call({
      url: this.speaking.url,
      path: method.path,
      metadata: lowerCased(
        requestHeaders({
          version: this.speaking.version,
          extensions: this.#extensions,
          context,
          binding: lastEventId === undefined ? {} : { "Last-Event-ID": lastEventId },
          credentials: sent,
        }),
      ),
      message,
      signal,
      onHead: this.#onHead,
    });
    try {
      for (;;) {
        const next = await answer.next();
        if (next.done === true) {
          const secrets = this.#credentials?.secrets() ?? [];
          const error = grpcError(next.value, (text) => redact(text, secrets));
          return { error, asks: next.value.headers["www-authenticate"] ?? "" };
        }
        yield this.#read(() => method.decodeResponse(next.value));
      }
    } finally {
      // Leaving the loop ends the call.
      await answer.return(undefined as never);
    }
  }

  #findMethod(operation: OperationName): GrpcMethod {
    const { version } = this.speaking;
    const method = GRPC_SERVICES[version].methods.find((row) => row.operation === operation);
    if (method !== undefined) return method;
    const { method: name } = OPERATIONS[operation];
    throw new ClientError("unsupported", `A2A ${version} has no ${name} on gRPC`);
  }

  #read<T>(decode: () => T): T {
    try {
      return decode();
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      throw this.#unreadable(`cannot be understood: ${problem}`, error);
    }
  }

  #unreadable(problem: string, cause?: unknown): ClientError {
    return new ClientError("unreadable", `the response from ${this.speaking.url} ${problem}`, {
      cause,
    });
  }
}

function lowerCased(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

interface Event {
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The metadata field of an event with its id; to resume, it is sent back as metadata of the same name. */
const CURSOR = "last-event-id";

/** Separates the event from its cursor, so that the event is the same on every binding. */
function takeCursor(message: unknown): { readonly result: unknown; readonly id: string } {
  const [[member, event] = []] = Object.entries((message ?? {}) as Readonly<Record<string, Event>>);
  const cursor = event?.metadata?.[CURSOR];
  if (member === undefined || typeof cursor !== "string") return { result: message, id: "" };
  const { metadata: { [CURSOR]: _, ...metadata } = {}, ...rest } = event ?? {};
  const isEmpty = Object.keys(metadata).length === 0;
  return { result: { [member]: isEmpty ? rest : { ...rest, metadata } }, id: cursor };
}

/** The error of a call in the form of the other bindings; `undefined` if it succeeded. */
function grpcError(end: GrpcEnd, clean: (text: string) => string): RemoteError | undefined {
  const { httpStatus, status } = end;
  if (status === 0 && httpStatus === 200) return undefined;
  // A proxy without gRPC responded.
  if (status === undefined) {
    const { headers } = end;
    return parseError("", {
      status: httpStatus,
      statusText: "instead of a gRPC response",
      headers,
    });
  }
  const details = parseDetails(end.details);
  const name = grpcStatusName(status);
  const named = errorReasonInDetails(details);
  const reason = named ?? errorReasonFromStatus(name, end.message);
  const retryAfterMs = pushback(end) ?? retryDelayIn(details);
  const isOfAgent = named !== undefined || retryAfterMs !== undefined;
  const row = reason === undefined ? ERRORS.Internal : ERRORS[reason];
  return new RemoteError(withChallenge(clean(end.message) || `gRPC ${name}`, end), {
    httpStatus: row.http,
    code: row.code,
    reason,
    data: details,
    retryAfterMs,
    ...(isOfAgent && isOverload(reason) && { processed: false }),
  });
}

/** Invalid details are ignored: the status and its message say enough. */
function parseDetails(bytes: Uint8Array | undefined): readonly object[] | undefined {
  if (bytes === undefined) return undefined;
  try {
    return decodeStatusDetails(bytes).details;
  } catch {
    return undefined;
  }
}

function withChallenge(message: string, { status, headers }: GrpcEnd): string {
  const asks = headers["www-authenticate"];
  return status === 16 && asks ? `${message}; it asks for ${asks.slice(0, 200)}` : message;
}

/** gRPC's own form of `Retry-After`. */
function pushback({ headers }: GrpcEnd): number | undefined {
  const value = headers["grpc-retry-pushback-ms"];
  return value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}
