import { type IncomingMessage, createServer as createHttp } from "node:http";
import { createServer as createHttps } from "node:https";
import { createServer as createTcp } from "node:net";
import { text } from "node:stream/consumers";
import type { Move } from "./move.ts";
import { Listener } from "./listener.ts";
import { play } from "./play.ts";

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

export interface HttpListenerOptions {
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  readonly answer: (request: HttpRequest) => readonly Move[] | Promise<readonly Move[]>;
}

/**
 * Parses requests like any server, and answers them with bytes that no correct server would send.
 */
export function createHttpListener({ tls, answer }: HttpListenerOptions): Listener {
  const handle = async (request: IncomingMessage): Promise<void> => {
    const { method = "", url: path = "", headers, socket } = request;
    const body = await text(request);
    const named = headers as Readonly<Record<string, string | undefined>>;
    // Bypasses Node's response object, which would add its own headers.
    await play(socket, await answer({ method, path, headers: named, body }));
  };
  // A client may disconnect at any time, also before its request is read.
  const listen = (request: IncomingMessage) => void handle(request).catch(() => undefined);
  return new Listener(tls === undefined ? createHttp(listen) : createHttps(tls, listen));
}

/** Accepts connections and closes them at the first byte. */
export function createClosingListener(): Listener {
  return new Listener(createTcp((socket) => socket.once("data", () => socket.destroy())));
}
