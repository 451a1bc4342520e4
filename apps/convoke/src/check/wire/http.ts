import { type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import { Failed } from "../verdict.ts";
import { MAX_BYTES } from "./limits.ts";
import { readableRequest } from "./readable.ts";
import type { Transcript } from "./transcript.ts";
import { whyUnreachable } from "./why-unreachable.ts";

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  readonly transcript: Transcript;
}

/** An answer whose body has not been read. */
export interface OpenReply {
  readonly status: number;
  readonly headers: Headers;
  /** Pieces of the body; more than the limit throws. Whoever stops reading hangs up. */
  readonly pieces: AsyncGenerator<string, void>;
}

/** An answer as a whole. */
export interface HttpReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * One request as it is. Not by `fetch`, which adds headers of its own: its `cache-control` makes
 * servers send again what has not changed. Redirects are not followed, since a server may not
 * send credentials to wherever it likes.
 */
export async function openHttp(request: HttpRequest): Promise<OpenReply> {
  const { method, url, headers, body, signal, transcript } = request;
  transcript.said(readableRequest(`${method} ${url}`, headers, body ?? ""));
  try {
    const message = await answerTo(request);
    return {
      status: message.statusCode ?? 0,
      headers: headersOf(message),
      pieces: piecesOf(message, signal, transcript),
    };
  } catch (error) {
    signal.throwIfAborted();
    throw new Failed("an answer", transcript.heard(`no answer: ${whyUnreachable(error)}`));
  }
}

/** The whole of an answer. */
export async function requestHttp(request: HttpRequest): Promise<HttpReply> {
  return wholeOf(await openHttp(request), request.transcript);
}

/** Reads an answer to its end. */
export async function wholeOf(
  { status, headers, pieces }: OpenReply,
  transcript: Transcript,
): Promise<HttpReply> {
  const type = headers.get("content-type") ?? "without a content type";
  const location = headers.get("location");
  const head = `${status} ${location === null ? "" : `to ${location} `}${type}`;
  transcript.heard(head);
  let text = "";
  for await (const piece of pieces) text += piece;
  transcript.heard(`${head} ${text}`);
  return { status, headers, text };
}

function answerTo(request: HttpRequest): Promise<IncomingMessage> {
  const { method, url, headers, body, signal } = request;
  const send = new URL(url).protocol === "https:" ? requestSecure : requestPlain;
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const options = { method, headers: { ...length, ...headers }, signal, agent: false as const };
    const sent = send(url, options, resolve);
    sent.on("error", reject);
    sent.end(body);
  });
}

function headersOf({ headers }: IncomingMessage): Headers {
  const entries = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
  return new Headers(entries.map(([name, value]) => [name, value]));
}

async function* piecesOf(
  message: IncomingMessage,
  signal: AbortSignal,
  transcript: Transcript,
): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let length = 0;
  try {
    for await (const bytes of message as AsyncIterable<Buffer>) {
      length += bytes.length;
      if (length > MAX_BYTES) {
        throw new Failed(
          `an answer of at most ${MAX_BYTES} bytes`,
          transcript.heard(`${message.statusCode} and more than ${MAX_BYTES} bytes`),
        );
      }
      yield decoder.decode(bytes, { stream: true });
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Failed) throw error;
    const told = `${message.statusCode}, and then the connection broke: ${whyUnreachable(error)}`;
    throw new Failed("an answer that ends well", transcript.heard(told));
  }
}
