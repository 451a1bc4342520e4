import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { bodyCutOff, bodyTooLarge, bodyWasTaken } from "../http/body-too-large.ts";

/** A request as a framework may have left it for us. */
export interface ParsedRequest extends IncomingMessage {
  /** What a body parser made of the body. */
  readonly body?: unknown;
}

/**
 * The body that a parser before us has read; nothing where the stream is still
 * ours to read. Some parsers set `body` without reading, so the stream decides.
 */
export function givenBody(incoming: ParsedRequest, maxBytes: number): Uint8Array | undefined {
  if (!incoming.readableDidRead && !incoming.readableEnded) return undefined;
  const { body } = incoming;
  if (body === undefined || body === null) {
    if (isReset(incoming)) throw bodyCutOff();
    throw bodyWasTaken("mount it before what reads bodies, or set request.body");
  }
  const bytes = bytesOf(body);
  if (bytes.byteLength > maxBytes) throw bodyTooLarge(maxBytes);
  return bytes;
}

/** Node drains the request of an HTTP/2 stream that was reset, as if it had been read. */
function isReset(incoming: IncomingMessage): boolean {
  const { stream } = incoming as IncomingMessage & Partial<Pick<Http2ServerRequest, "stream">>;
  return stream?.destroyed === true;
}

function bytesOf(body: NonNullable<unknown>): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}
