import { createEgress } from "@convoke/egress";
import { type HttpAnswer, type HttpCall } from "@convoke/egress/http";
import { SseDecoder, type SseEvent } from "@convoke/protocol";
import type { WireHeaders } from "./client.ts";
import {
  Failed,
  MAX_BYTES,
  Skipped,
  type Transcript,
  checkStreamSize,
  readableRequest,
} from "./exchange.ts";

export interface HttpRequest {
  readonly method: NonNullable<HttpCall["method"]>;
  readonly url: string;
  readonly headers: WireHeaders;
  readonly body?: string;
  readonly signal: AbortSignal;
  readonly transcript: Transcript;
}

/** A response whose body has not been read. */
export interface OpenReply {
  readonly status: number;
  readonly headers: Headers;
  /** Pieces of the body; throws beyond the size limit. Returning the generator closes the connection. */
  readonly pieces: AsyncGenerator<string, void>;
}

/** A whole response. */
export interface HttpReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * Sends one request as it is, on a connection of its own. Redirects are not followed: a server must
 * not be able to send our credentials elsewhere.
 */
export async function openHttp(request: HttpRequest): Promise<OpenReply> {
  const { method, url, headers, body, signal, transcript } = request;
  transcript.recordSent(readableRequest(`${method} ${url}`, headers, body ?? ""));
  try {
    const answer = await send(request);
    return {
      status: answer.status,
      headers: new Headers(answer.headers),
      pieces: readPieces(answer, signal, transcript),
    };
  } catch (error) {
    signal.throwIfAborted();
    const received = `no response: ${networkErrorMessage(error)}`;
    throw new Failed("a response", transcript.recordReceived(received));
  }
}

/** Sends one request and reads the whole response. */
export async function requestHttp(request: HttpRequest): Promise<HttpReply> {
  return readReply(await openHttp(request), request.transcript);
}

/** Reads a response to its end. */
export async function readReply(
  { status, headers, pieces }: OpenReply,
  transcript: Transcript,
): Promise<HttpReply> {
  const type = headers.get("content-type") ?? "without a content type";
  const location = headers.get("location");
  const head = `${status} ${location === null ? "" : `to ${location} `}${type}`;
  transcript.recordReceived(head);
  let text = "";
  for await (const piece of pieces) text += piece;
  transcript.recordReceived(`${head} ${text}`);
  return { status, headers, text };
}

/** Whether a response is a stream of server-sent events. */
export function isSse({ headers }: Pick<OpenReply, "headers">): boolean {
  return (headers.get("content-type") ?? "").toLowerCase().startsWith("text/event-stream");
}

export async function* sseEvents({ pieces }: OpenReply): AsyncGenerator<SseEvent, void> {
  const decoder = new SseDecoder();
  for await (const piece of pieces) yield* decoder.push(piece);
}

/** The headers of a response as a plain record. */
export function toRecord(headers: Headers): WireHeaders {
  return Object.fromEntries(headers.entries());
}

/** The reason of a network error. It is often hidden in the causes, for example behind "fetch failed". */
export function networkErrorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // `localhost` is tried over IPv6 and IPv4; the first error says as much as both.
  if (error instanceof AggregateError && error.errors.length > 0) {
    return networkErrorMessage(error.errors[0]);
  }
  return error.cause instanceof Error ? networkErrorMessage(error.cause) : error.message;
}

/** All origins are trusted: the user has typed or allowed each of them. */
async function send({ method, url, headers, body, signal }: HttpRequest): Promise<HttpAnswer> {
  const egress = createEgress({ trusted: [url] });
  const call = { method, url, headers, signal, ...(body !== undefined && { body }) };
  try {
    return await egress.request({ ...call, redirects: "answer" });
  } finally {
    // Connections in use stay open until their response has been read.
    egress.close();
  }
}

async function* readPieces(
  { status, headers, body }: HttpAnswer,
  signal: AbortSignal,
  transcript: Transcript,
): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  const isStream = isSse({ headers: new Headers(headers) });
  let length = 0;
  try {
    for await (const bytes of body) {
      length += bytes.length;
      if (isStream) checkStreamSize(length);
      else if (length > MAX_BYTES) {
        throw new Failed(
          `a response of at most ${MAX_BYTES} bytes`,
          transcript.recordReceived(`${status} and more than ${MAX_BYTES} bytes`),
        );
      }
      yield decoder.decode(bytes, { stream: true });
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Failed || error instanceof Skipped) throw error;
    const received = `${status}, then the connection broke: ${networkErrorMessage(error)}`;
    throw new Failed("a complete response", transcript.recordReceived(received));
  }
}
