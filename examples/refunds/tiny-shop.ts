import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Order } from "./shop.ts";

const ORDERS: readonly Order[] = [{ id: "A-7", total: "30 EUR" }];

/** A shop with one order. It refunds once per idempotency key, and records every request. */
export class TinyShop {
  /** The keys of all refund requests, including repeated ones. */
  readonly refunds: string[] = [];
  /** How often an order was looked up. */
  lookups = 0;
  readonly #server = createServer((request, response) => this.#answer(request, response));
  #gate: Promise<void> = Promise.resolve();
  #openGate: () => void = () => undefined;

  /** Starts the shop and resolves to its address. */
  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
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
      this.refunds.push(String(headers["idempotency-key"]));
      void this.#gate.then(() => response.writeHead(204).end());
      return;
    }
    this.lookups++;
    const order = ORDERS.find(({ id }) => url === `/orders/${id}`);
    response.writeHead(order === undefined ? 404 : 200).end(JSON.stringify(order));
  }
}
