import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Order } from "./shop.ts";

const ORDERS: readonly Order[] = [{ id: "A-7", total: "30 EUR" }];

/** A shop with one order. It refunds once per idempotency key, and records every request. */
export class TinyShop {
  /** Called with a line about each request. */
  onRequest: (line: string) => void = () => undefined;
  /** The keys of all refund requests, including repeated ones. */
  readonly refunds: string[] = [];
  /** How often an order was looked up. */
  lookups = 0;
  readonly #server = createServer((request, response) => this.#answer(request, response));
  #gate: Promise<void> = Promise.resolve();
  #openGate: () => void = () => undefined;

  /** Starts the shop and resolves to its address; port 0 picks a free one. */
  async open(port = 0): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#openGate();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** From now on refunds are made, but their requests are not answered until `release`. */
  hold(): void {
    this.#gate = new Promise((resolve) => {
      this.#openGate = resolve;
    });
  }

  release(): void {
    this.#openGate();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { url = "", headers } = request;
    if (url === "/refunds") {
      const key = String(headers["idempotency-key"]);
      this.onRequest(
        this.refunds.includes(key) ? `refund ${key}, again: ignored` : `refund ${key}`,
      );
      this.refunds.push(key);
      void this.#gate.then(() => response.writeHead(204).end());
      return;
    }
    this.lookups++;
    this.onRequest(`look up ${url}`);
    const order = ORDERS.find(({ id }) => url === `/orders/${id}`);
    response.writeHead(order === undefined ? 404 : 200).end(JSON.stringify(order));
  }
}
