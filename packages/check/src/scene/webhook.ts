import { type IncomingMessage, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Exchange, Skipped } from "../verdict.ts";
import type { WireHeaders } from "../wire/call.ts";
import { MAX_BYTES } from "../wire/limits.ts";
import type { Scene } from "./scene.ts";

/** Something that a server pushed. */
export interface Notification {
  readonly headers: WireHeaders;
  readonly body: string;
  readonly exchange: Exchange;
}

/** How long a server may take to push what has happened. */
const PATIENCE_MS = 3000;

/** Opens an address on this machine, has something done that leads there, and gives what comes. */
export async function receive(
  scene: Scene,
  act: (url: string) => Promise<void>,
): Promise<Notification> {
  const { promise, resolve } = Promise.withResolvers<Omit<Notification, "exchange">>();
  const server = createServer((request, response) => {
    void textOf(request).then((body) => {
      response.writeHead(200).end();
      resolve({ headers: headersOf(request), body });
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const patience = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => patience.resolve(undefined), PATIENCE_MS);
  try {
    await act(`http://127.0.0.1:${port}/convoke-check`);
    const { sent } = scene.transcript.last;
    const came = await Promise.race([promise, patience.promise]);
    // A server may well take an address and then think better of going there.
    if (came === undefined) throw new Skipped("no notification came to this machine");
    const shown = Object.entries(came.headers).map(([name, value]) => `${name}: ${value}`);
    const received = `a notification (${shown.join(", ")}) ${came.body.slice(0, 200)}`;
    return { ...came, exchange: { sent, received } };
  } finally {
    clearTimeout(timer);
    server.close();
    server.closeAllConnections();
  }
}

function headersOf(request: IncomingMessage): WireHeaders {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of request.setEncoding("utf8") as AsyncIterable<string>) {
    text += piece;
    if (text.length > MAX_BYTES) break;
  }
  return text;
}
