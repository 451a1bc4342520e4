import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import type { Receiver } from "../target.ts";

/** A port of this machine that a server must not be made to call. */
export interface Trap extends AsyncDisposable {
  readonly port: number;
  /** How many connections have arrived, and what they said first. */
  readonly visits: readonly string[];
}

/** Listens on all addresses of this machine, of both families. */
export async function openTrap(): Promise<Trap> {
  const visits: string[] = [];
  const server = createServer((socket) => {
    const place = visits.push("") - 1;
    socket.on("error", () => undefined);
    socket.on("data", (piece) => {
      visits[place] += piece.toString("latin1");
      socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
    });
  });
  server.listen(0);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    visits,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.unref();
    },
  };
}

/** A push receiver that a server may call. */
export async function openReceiver(): Promise<Receiver & { readonly close: () => void }> {
  let location: string | undefined;
  let requests = 0;
  const server = createHttpServer((request, response) => {
    requests++;
    request.resume();
    if (location === undefined) response.writeHead(200).end();
    else response.writeHead(307, { location }).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    redirectTo: (next) => {
      location = next;
    },
    requests: () => requests,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
