import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { Order } from "./shop.ts";

const ORDERS: readonly Order[] = [
  { id: "A-7", item: "lamp", total: 30 },
  { id: "B-12", item: "coffee machine", total: 240 },
  { id: "C-3", item: "piano", total: 4000 },
];

interface Refund {
  readonly order: string;
  readonly amount: number;
}

/** A shop with three orders. It refunds once per idempotency key, and keeps its refunds in a file. */
export class TinyShop {
  /** Called with a line about each request. */
  onRequest: (line: string) => void = () => undefined;
  /** How often an order was looked up, and a refund requested. */
  lookups = 0;
  requests = 0;
  readonly #file: string;
  readonly #refunds: Map<string, Refund>;
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  #gate: Promise<void> = Promise.resolve();
  #openGate: () => void = () => undefined;

  constructor(file: string) {
    this.#file = file;
    const kept = existsSync(file) ? readFileSync(file, "utf8") : "[]";
    this.#refunds = new Map(JSON.parse(kept) as [string, Refund][]);
  }

  /** The refunds that were paid. */
  get refunds(): readonly Refund[] {
    return [...this.#refunds.values()];
  }

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

  /** From now on refunds are paid, but their requests are not answered until `release`. */
  hold(): void {
    this.#gate = new Promise((resolve) => {
      this.#openGate = resolve;
    });
  }

  release(): void {
    this.#openGate();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = "", headers } = request;
    if (url === "/refunds") {
      this.#refund(String(headers["idempotency-key"]), (await json(request)) as Refund);
      await this.#gate;
      response.writeHead(204).end();
      return;
    }
    this.lookups++;
    this.onRequest(`shop: look up ${url.replace("/orders/", "")}`);
    const order = ORDERS.find(({ id }) => url === `/orders/${id}`);
    response.writeHead(order === undefined ? 404 : 200).end(JSON.stringify(order));
  }

  #refund(key: string, refund: Refund): void {
    this.requests++;
    const isPaid = this.#refunds.has(key);
    const line = `shop: refund ${refund.amount} EUR of ${refund.order}`;
    this.onRequest(isPaid ? `${line}, again: already paid` : line);
    this.#refunds.set(key, refund);
    writeFileSync(this.#file, JSON.stringify([...this.#refunds]));
  }
}
