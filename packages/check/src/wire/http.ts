import { createEgress } from "@convoke/egress";
import { type HttpAnswer, type HttpCall } from "@convoke/egress/http";
import { Failed } from "../verdict.ts";
import { MAX_BYTES } from "./limits.ts";
import { readableRequest } from "./readable.ts";
import type { Transcript } from "./transcript.ts";
import { whyUnreachable } from "./why-unreachable.ts";

export interface HttpRequest {
  readonly method: NonNullable<HttpCall["method"]>;
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
 * One request as it is, on a connection of its own. Redirects are not followed, since a server may
 * not send credentials to wherever it likes.
 */
export async function openHttp(request: HttpRequest): Promise<OpenReply> {
  const { method, url, headers, body, signal, transcript } = request;
  transcript.said(readableRequest(`${method} ${url}`, headers, body ?? ""));
  try {
    const answer = await answerTo(request);
    return {
      status: answer.status,
      headers: new Headers(answer.headers),
      pieces: piecesOf(answer, signal, transcript),
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

/** The operator has typed or allowed every origin that is spoken to. */
async function answerTo({ method, url, headers, body, signal }: HttpRequest): Promise<HttpAnswer> {
  const way = createEgress({ trusted: [url] });
  const call = { method, url, headers, signal, ...(body !== undefined && { body }) };
  try {
    return await way.request({ ...call, redirects: "answer" });
  } finally {
    // What is in use stays open until it was read.
    way.close();
  }
}

async function* piecesOf(
  { status, body }: HttpAnswer,
  signal: AbortSignal,
  transcript: Transcript,
): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let length = 0;
  try {
    for await (const bytes of body) {
      length += bytes.length;
      if (length > MAX_BYTES) {
        throw new Failed(
          `an answer of at most ${MAX_BYTES} bytes`,
          transcript.heard(`${status} and more than ${MAX_BYTES} bytes`),
        );
      }
      yield decoder.decode(bytes, { stream: true });
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Failed) throw error;
    const told = `${status}, and then the connection broke: ${whyUnreachable(error)}`;
    throw new Failed("an answer that ends well", transcript.heard(told));
  }
}
