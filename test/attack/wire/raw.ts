import { once } from "node:events";
import { type Socket, connect as connectTcp } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import type { WireHeaders } from "@convoke/check/wire";

/** A connection on which any bytes can be sent. Errors are ignored: servers may hang up. */
export async function openSocket(address: string | URL): Promise<Socket> {
  const { protocol, hostname, port } = new URL(address);
  const isSecure = protocol === "https:";
  const options = {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port) || (isSecure ? 443 : 80),
  };
  const socket = isSecure
    ? connectTls({ ...options, servername: hostname })
    : connectTcp({ ...options, noDelay: true });
  const opened = once(socket, isSecure ? "secureConnect" : "connect");
  await opened;
  socket.on("error", () => undefined);
  return socket;
}

/** How long a server may take to begin its answer, and be silent before the answer counts as complete. */
const FIRST_MS = 5000;
const SILENCE_MS = 250;
const LONGEST_MS = 30_000;

/**
 * Sends bytes, and returns everything that comes back until the server closes the connection, or is
 * silent after it has answered.
 */
export async function exchange(address: string | URL, bytes: string | Uint8Array): Promise<string> {
  const socket = await openSocket(address).catch(() => undefined);
  if (socket === undefined) return "";
  const pieces: Buffer[] = [];
  let last = performance.now();
  socket.on("data", (piece: Buffer) => {
    pieces.push(piece);
    last = performance.now();
  });
  const closed = once(socket, "close").then(
    () => true,
    () => true,
  );
  socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
  const until = performance.now() + LONGEST_MS;
  for (;;) {
    const isOver = await Promise.race([closed, sleep(20, false)]);
    const now = performance.now();
    const isSilent = now - last > (pieces.length > 0 ? SILENCE_MS : FIRST_MS);
    if (isOver || isSilent || now > until) break;
  }
  socket.destroy();
  return Buffer.concat(pieces).toString("latin1");
}

/** A request of HTTP/1.1 as bytes. Headers are written as they are given. */
export function rawRequest(
  line: string,
  address: string | URL,
  { headers = {}, body = "" }: { readonly headers?: WireHeaders; readonly body?: string } = {},
): string {
  const { host } = new URL(address);
  const all = { host, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const length = body === "" ? [] : [`content-length: ${Buffer.byteLength(body)}`];
  return `${[`${line} HTTP/1.1`, ...lines, ...length].join("\r\n")}\r\n\r\n${body}`;
}

/** The statuses of all responses in what was received. */
export function statusesIn(received: string): readonly number[] {
  return [...received.matchAll(/(?:^|\n|\})HTTP\/1\.[01] (\d{3})/g)].map(([, code]) =>
    Number(code),
  );
}

/** The path of a URL, without a slash at its end. */
export function basePath(address: string): string {
  return new URL(address).pathname.replace(/\/$/, "");
}
