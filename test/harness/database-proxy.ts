import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type Server, type Socket, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The name of the socket of a server on the default port. */
const SOCKET = ".s.PGSQL.5432";

/** Forwards connections to a database server, and can cut, delay and lose what is sent. */
export class DatabaseProxy {
  /** The same database, through the proxy. */
  readonly url: string;
  readonly #folder: string;
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  /** The socket of the database server. */
  #target: string;
  #isLosing = false;
  #isHolding = false;

  private constructor(url: string) {
    this.#target = socketOf(url);
    this.#folder = mkdtempSync(join(tmpdir(), "convoke-proxy-"));
    const own = new URL(url);
    own.searchParams.set("host", this.#folder);
    this.url = own.href;
    this.#server = createServer((client) => this.#forward(client, connect(this.#target)));
  }

  static async start(url: string): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy(url);
    proxy.#server.listen(join(proxy.#folder, SOCKET));
    await once(proxy.#server, "listening");
    return proxy;
  }

  /** From now on answers are lost, until the connections are cut. */
  loseAnswers(): void {
    this.#isLosing = true;
  }

  /** Ends all connections. Later ones work again. */
  cut(): void {
    this.#isLosing = false;
    for (const socket of this.#open) socket.destroy();
  }

  /** Ends all connections. Later ones are to another server. */
  pointTo(url: string): void {
    this.#target = socketOf(url);
    this.cut();
  }

  /** Nothing arrives any more by the connections that are open. Later ones work. */
  silence(): void {
    for (const socket of this.#open) socket.pause();
  }

  /** From now on nothing arrives, in either direction. */
  hold(): void {
    this.#isHolding = true;
    for (const socket of this.#open) socket.pause();
  }

  /** What was held arrives now. */
  release(): void {
    this.#isHolding = false;
    for (const socket of this.#open) socket.resume();
  }

  close(): void {
    this.cut();
    this.#server.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #forward(client: Socket, database: Socket): void {
    for (const [one, other] of [
      [client, database],
      [database, client],
    ] as const) {
      this.#open.add(one);
      one.on("data", (data) => {
        if (one === client || !this.#isLosing) other.write(data);
      });
      one.on("error", () => other.destroy());
      one.on("close", () => {
        this.#open.delete(one);
        other.destroy();
      });
      if (this.#isHolding) one.pause();
    }
  }
}

function socketOf(url: string): string {
  return join(new URL(url).searchParams.get("host")!, SOCKET);
}
