import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { text } from "node:stream/consumers";
import { expect, onTestFinished } from "vitest";
import { keptPort } from "../harness/kept-port.ts";

/** A notification as it arrived. */
export interface Arrival {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** How a webhook responds to a request, after recording it. */
export type Manner = (request: IncomingMessage, response: ServerResponse) => void;

export const accepts: Manner = (_request, response) => void response.writeHead(204).end();

export function answers(status: number, headers: Record<string, string> = {}): Manner {
  return (_request, response) => void response.writeHead(status, headers).end();
}

/** Never responds. */
export const hangs: Manner = () => undefined;

/** Accepts the notification and closes the connection without a response. */
export const losesItsAnswer: Manner = (request) => void request.socket.destroy();

/**
 * A notification receiver on a real port, whose behavior a test can change; it can go down and come
 * back.
 */
export class Webhook {
  readonly arrivals: Arrival[] = [];
  manner: Manner = accepts;
  #server: Server | undefined;
  #port = 0;

  static async start(): Promise<Webhook> {
    const webhook = new Webhook();
    await webhook.up();
    onTestFinished(() => webhook.down());
    return webhook;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/hook`;
  }

  get isUp(): boolean {
    return this.#server !== undefined;
  }

  async up(): Promise<void> {
    this.#port ||= await keptPort();
    const server = createServer((request, response) => void this.#receive(request, response));
    await new Promise<void>((resolve) => server.listen(this.#port, "127.0.0.1", resolve));
    this.#server = server;
  }

  async down(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  /** The bodies of all requests, in order. */
  get bodies(): readonly unknown[] {
    return this.arrivals.map(({ body }) => JSON.parse(body) as unknown);
  }

  /** The sequence numbers that arrived, each once, in the order of their first arrival. */
  get places(): readonly number[] {
    const ids = this.arrivals.map(({ headers }) => String(headers["webhook-id"]));
    return [...new Set(ids)].map((id) => Number(id.split(".").at(-1)));
  }

  async hasReceived(count: number): Promise<void> {
    await expect.poll(() => this.places.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(count);
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers } = request;
    this.arrivals.push({ headers, body: await text(request) });
    this.manner(request, response);
  }
}
