import type { IncomingMessage } from "node:http";
import { bodyCutOff, bodyTooLarge, bodyAlreadyRead } from "../http/body.ts";
import type { Http2ServerRequest } from "node:http2";

/** Reads a body. Rejects if it exceeds the limit, without keeping the rest. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > maxBytes) return Promise.reject(bodyTooLarge(maxBytes));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) {
        chunks.push(chunk);
      } else {
        chunks.length = 0;
        reject(bodyTooLarge(maxBytes));
      }
    });
    const cutOff = (): void => reject(bodyCutOff());
    request.on("error", cutOff);
    request.on("close", cutOff);
    request.on("end", () => {
      // Every request closes; creating an unused error would cost more than reading the body.
      request.off("close", cutOff);
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    });
  });
}

/** A request that a framework may have processed. */
interface ParsedRequest extends IncomingMessage {
  /** The parsed body. */
  readonly body?: unknown;
}

/**
 * The body that a body parser has read; `undefined` if it is still to be read.
 * Some parsers set `body` without reading it, so the state of the stream decides.
 */
export function parsedBody(incoming: ParsedRequest, maxBytes: number): Uint8Array | undefined {
  if (!incoming.readableDidRead && !incoming.readableEnded) return undefined;
  const { body } = incoming;
  if (body === undefined || body === null) {
    if (isReset(incoming)) throw bodyCutOff();
    throw bodyAlreadyRead("mount it before middleware that reads bodies, or set request.body");
  }
  const bytes = toBytes(body);
  if (bytes.byteLength > maxBytes) throw bodyTooLarge(maxBytes);
  return bytes;
}

/** Node drains a reset HTTP/2 stream as if it had been read. */
function isReset(incoming: IncomingMessage): boolean {
  const { stream } = incoming as IncomingMessage & Partial<Pick<Http2ServerRequest, "stream">>;
  return stream?.destroyed === true;
}

function toBytes(body: NonNullable<unknown>): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}
