import { once } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { text } from "node:stream/consumers";
import type { Json } from "./caller.ts";
import type { Arrival } from "./cases.ts";

export interface Received extends Arrival {
  readonly body: Json;
}

/** Receives notifications on one port. */
export class Webhook implements AsyncDisposable {
  /** The accepted ones, in order. */
  readonly received: Received[] = [];
  readonly #server: Server;
  readonly #accepts: (path: string) => boolean;

  private constructor(accepts: (path: string) => boolean) {
    this.#accepts = accepts;
    this.#server = createServer((request, response) => void this.#receive(request, response));
  }

  /** Rejects if the port is in use. */
  static async listen(port: number, accepts: (path: string) => boolean): Promise<Webhook> {
    const webhook = new Webhook(accepts);
    webhook.#server.listen(port, "127.0.0.1");
    await once(webhook.#server, "listening");
    return webhook;
  }

  at(path: string): readonly Received[] {
    return this.received.filter((one) => one.path === path);
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: path = "", headers } = request;
    const body = JSON.parse(await text(request)) as Json;
    const isAccepted = this.#accepts(path);
    response.writeHead(isAccepted ? 204 : 503).end();
    if (!isAccepted) return;
    const webhookId = String(headers["webhook-id"]);
    const token = String(headers["x-a2a-notification-token"]);
    this.received.push({ path, webhookId, token, body });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
