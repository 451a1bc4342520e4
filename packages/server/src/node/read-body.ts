import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { A2AError } from "@convoke/protocol";
import {
  bodyAlreadyRead,
  bodyCutOff,
  bodyTooLarge,
  bodyTooSlow,
  checkEncoding,
} from "../http/exchange.ts";

interface BodyLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

const NO_BYTES = new Uint8Array();

/** Reads a body. Rejects if it exceeds a limit, without reading the rest. */
export async function readBody(
  request: IncomingMessage,
  { maxBytes, timeoutMs }: BodyLimits,
): Promise<Uint8Array> {
  const parsed = parsedBody(request, maxBytes);
  if (parsed !== undefined) return parsed;
  const announced = Number(request.headers["content-length"] ?? 0);
  checkEncoding(request.headers["content-encoding"]);
  if (announced > maxBytes) throw bodyTooLarge(maxBytes);
  if (!request.complete && !isHttp2(request)) await allParsed();
  // The client disconnected before we got here, so there will be no event.
  if (request.destroyed) throw bodyCutOff();
  if (!request.complete || isHttp2(request)) return receiveBody(request, { maxBytes, timeoutMs });
  if (request.readableLength > maxBytes) throw bodyTooLarge(maxBytes);
  return (request.read() as Buffer | null) ?? NO_BYTES;
}

let parsing: Promise<void> | undefined;

/**
 * Resolves when everything that has arrived on any connection is parsed. Most bodies arrive together
 * with their headers, and are complete then: they need neither events nor a timer. Node announces a
 * request before it parses the body. All requests that arrive together share the promise.
 */
function allParsed(): Promise<void> {
  return (parsing ??= new Promise((resolve) => {
    setImmediate(() => {
      parsing = undefined;
      resolve();
    });
  }));
}

/** Collects a body that is still arriving. */
function receiveBody(
  request: IncomingMessage,
  { maxBytes, timeoutMs }: BodyLimits,
): Promise<Uint8Array> {
  const body = new ArrivingBody(Number(request.headers["content-length"] ?? 0));
  return new Promise((resolve, reject) => {
    const stop = (error: A2AError): void => {
      body.drop();
      clearTimeout(timer);
      request.off("data", add);
      request.pause();
      reject(error);
    };
    const add = (chunk: Buffer): void => {
      if (body.size + chunk.length <= maxBytes) body.add(chunk);
      else stop(bodyTooLarge(maxBytes));
    };
    const timer = setTimeout(() => stop(bodyTooSlow(timeoutMs)), timeoutMs);
    const cutOff = (): void => stop(bodyCutOff());
    request.on("data", add);
    request.on("error", cutOff);
    request.on("close", cutOff);
    request.on("end", () => {
      clearTimeout(timer);
      // Every request closes; creating an unused error would cost more than reading the body.
      request.off("close", cutOff);
      resolve(body.take());
    });
  });
}

/** Nothing is allocated for a header alone: a client has to send this much first. */
const LARGE_BODY_BYTES = 1024 * 1024;

/** What has arrived of a body. A large one of known length is collected in one buffer, so that it is in memory once. */
class ArrivingBody {
  readonly #announced: number;
  #chunks: Buffer[] = [];
  #whole: Buffer | undefined;
  size = 0;

  /** @param announced the length of the whole body, at most its limit; 0 if it is not known */
  constructor(announced: number) {
    this.#announced = announced;
  }

  add(chunk: Buffer): void {
    if (this.#whole !== undefined) chunk.copy(this.#whole, this.size);
    else this.#chunks.push(chunk);
    this.size += chunk.length;
    if (this.#whole !== undefined || this.size < LARGE_BODY_BYTES) return;
    if (!(this.#announced > this.size)) return;
    this.#whole = Buffer.allocUnsafeSlow(this.#announced);
    let end = 0;
    for (const one of this.#chunks.splice(0)) end += one.copy(this.#whole, end);
  }

  /** Returns the body and keeps nothing of it: the listeners of a request live as long as its response. */
  take(): Uint8Array {
    const chunks = this.#chunks;
    // Never more than has arrived: the rest of the buffer has the memory of others.
    const whole = this.#whole?.subarray(0, this.size);
    this.drop();
    return whole ?? (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
  }

  drop(): void {
    this.#chunks = [];
    this.#whole = undefined;
  }
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
function parsedBody(incoming: ParsedRequest, maxBytes: number): Uint8Array | undefined {
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

function toBytes(body: NonNullable<unknown>): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

export function isHttp2(message: IncomingMessage): boolean {
  return message.httpVersionMajor === 2;
}

/** Node drains a reset HTTP/2 stream as if it had been read. */
export function isReset(incoming: IncomingMessage): boolean {
  return isHttp2(incoming) && http2Stream(incoming)?.destroyed !== false;
}

export function http2Stream(incoming: IncomingMessage): Http2ServerRequest["stream"] | undefined {
  return (incoming as IncomingMessage & Partial<Pick<Http2ServerRequest, "stream">>).stream;
}
