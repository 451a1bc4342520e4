import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { NatsConnection, NodeConnectionOptions, Subscription } from "@nats-io/transport-node";
import { type Bus, type BusReports, BusStatus } from "../storage/bus.ts";

/** A server that does not answer for this long twice is gone. */
const PING_MS = 3000;
const RECONNECT_MS = 500;

/** After so many characters the server is asked whether it has received them. */
const FLUSH_LENGTH = 1_000_000;

/** How many may be on their way. More are dropped: a server that hangs must not fill the memory. */
const MAX_PENDING = 8_000_000;

const MAX_EVENT_BYTES = 65_536;

/** Where the servers of one cluster are, and the credentials for them. */
type NatsServers = Pick<NodeConnectionOptions, "servers" | "user" | "pass" | "token" | "tls">;

interface NatsBusOptions extends BusReports {
  readonly servers: NatsServers;
  /** The name of what the processes share, which separates them from others on the same server. */
  readonly installation: string;
}

/**
 * Hints by NATS. Texts about a task have a subject of their own, so that only those that follow it
 * receive them. While there is no connection, nothing is sent and nothing is kept.
 */
export class NatsBus implements Bus {
  readonly #options: NodeConnectionOptions;
  readonly #prefix: string;
  readonly #status: BusStatus;
  readonly #closing = new AbortController();
  /** The tasks that are followed, with their subscriptions if there is a connection. */
  readonly #followed = new Map<string, Subscription | undefined>();
  readonly #connecting: Promise<void>;
  #receive: (text: string) => void = () => {};
  #connection: NatsConnection | undefined;
  #pending = 0;
  #isFlushing = false;

  constructor({ servers, installation, ...reports }: NatsBusOptions) {
    this.#options = { ...servers, ...CONNECTION };
    this.#prefix = `convoke.${installation}`;
    this.#status = new BusStatus("NATS", "check that it runs and can be reached", reports);
    this.#connecting = this.#connect();
  }

  get isWorking(): boolean {
    return this.#status.isWorking;
  }

  /** A server may be configured to accept less. */
  get maxEventBytes(): number {
    return Math.min(MAX_EVENT_BYTES, this.#connection?.info?.max_payload ?? 0);
  }

  publish(text: string, taskId?: string): void {
    const connection = this.#open;
    if (connection === undefined || !this.isWorking || this.#pending > MAX_PENDING) return;
    const subject = taskId === undefined ? `${this.#prefix}.all` : this.#subject(taskId);
    connection.publish(subject, text);
    this.#pending += text.length;
    if (this.#pending > FLUSH_LENGTH && !this.#isFlushing) void this.#flush(connection);
  }

  subscribe(receive: (text: string) => void): void {
    this.#receive = receive;
  }

  follow(taskId: string): () => void {
    this.#followed.set(taskId, this.#listen(this.#subject(taskId)));
    return () => {
      this.#followed.get(taskId)?.unsubscribe();
      this.#followed.delete(taskId);
    };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#status.close();
    // A connection that is being established ends when it is.
    if (this.#connection === undefined) return;
    await this.#connection.close();
    await this.#connecting;
  }

  /** Ids of tasks may have characters that a subject cannot have. */
  #subject(taskId: string): string {
    return `${this.#prefix}.t.${createHash("sha256").update(taskId).digest("base64url")}`;
  }

  /** A closed connection cannot be used. */
  get #open(): NatsConnection | undefined {
    return this.#connection?.isClosed() === false ? this.#connection : undefined;
  }

  #listen(subject: string): Subscription | undefined {
    return this.#open?.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) this.#receive(message.string());
      },
    });
  }

  /** Connects, and says whether there is a connection until the bus is closed. */
  async #connect(): Promise<void> {
    const { connect } = await import("@nats-io/transport-node");
    while (!this.#closing.signal.aborted) {
      try {
        const connection = await connect(this.#options);
        await (this.#closing.signal.aborted ? connection.close() : this.#use(connection));
      } catch (error) {
        if (!this.#closing.signal.aborted) this.#status.fails(error);
      }
      const { signal } = this.#closing;
      await sleep(RECONNECT_MS, undefined, { ref: false, signal }).catch(() => undefined);
    }
  }

  /** Resolves when the connection is closed. Until then it reconnects by itself. */
  async #use(connection: NatsConnection): Promise<void> {
    this.#connection = connection;
    this.#listen(`${this.#prefix}.all`);
    for (const taskId of this.#followed.keys()) {
      this.#followed.set(taskId, this.#listen(this.#subject(taskId)));
    }
    this.#status.works();
    for await (const { type } of connection.status()) {
      if (type === "reconnect") this.#status.works();
      if (type === "disconnect" && !this.#closing.signal.aborted) this.#status.fails();
    }
    this.#connection = undefined;
  }

  /** The server has received all that was sent when it answers, and has lost it if it does not. */
  async #flush(connection: NatsConnection): Promise<void> {
    this.#isFlushing = true;
    const sent = this.#pending;
    await connection.flush().catch(() => undefined);
    this.#pending -= sent;
    this.#isFlushing = false;
  }
}

const CONNECTION: NodeConnectionOptions = {
  name: "convoke",
  noEcho: true,
  maxReconnectAttempts: -1,
  ignoreAuthErrorAbort: true,
  reconnectTimeWait: RECONNECT_MS,
  pingInterval: PING_MS,
  maxPingOut: 2,
  timeout: 5000,
};

/**
 * The client takes credentials apart from addresses. Throws if one is not an address.
 *
 * @param url addresses separated by commas: `nats://user:password@host:4222`
 */
export function toNatsServers(url: string): NatsServers {
  const all = url.split(",").map((one) => parseUrl(one.trim()));
  const { username, password } = all[0]!;
  const [user, pass] = [username, password].map(decodeURIComponent);
  const isSecure = all.some(({ protocol }) => protocol === "tls:");
  return {
    servers: all.map(({ host }) => host),
    ...(pass ? { user: user!, pass } : user ? { token: user } : {}),
    ...(isSecure && { tls: {} }),
  };
}

function parseUrl(url: string): URL {
  const parsed = URL.parse(url);
  if (parsed !== null && /^(?:nats|tls):$/.test(parsed.protocol) && parsed.host !== "") {
    return parsed;
  }
  throw new Error("nats: expected an address such as nats://host:4222");
}
