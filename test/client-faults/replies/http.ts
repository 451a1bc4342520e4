import { STATUS_CODES } from "node:http";
import type { FaultReply } from "../fault-scenario.ts";
import { type Move, bytes } from "../wire/move.ts";

export interface WholeOptions {
  readonly status?: number;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function head(status: number, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Odd"}\r\n${lines.join("")}\r\n`;
}

/** A response with a Content-Length, so that the connection stays open. */
export function whole(content: string | Uint8Array, options: WholeOptions = {}): readonly Move[] {
  const { status = 200, type = "application/json", headers = {} } = options;
  const body = Buffer.from(content);
  const length = { "Content-Length": String(body.length) };
  return [bytes(head(status, { "Content-Type": type, ...length, ...headers })), bytes(body)];
}

export function page(status: number, title: string): FaultReply {
  const html = `<!DOCTYPE html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`;
  return () => whole(html, { status, type: "text/html; charset=utf-8" });
}

/** A response with any text. */
export function plainly(content: string | Uint8Array, options?: WholeOptions): FaultReply {
  return () => whole(content, options);
}

/** One chunk of a body in chunked encoding (RFC 9112 §7.1). */
export function chunk(content: string | Uint8Array): Buffer {
  const body = Buffer.from(content);
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n")]);
}

export const LAST_CHUNK = "0\r\n\r\n";

/** The head of an event stream. */
export const STREAM_HEAD = head(200, {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache",
  "Transfer-Encoding": "chunked",
});
