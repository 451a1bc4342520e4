import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isObject } from "@convoke/protocol/internal";
import type { Metrics } from "@convoke/protocol";
import type { Logger, Seq } from "@convoke/engine";
import type { Connection } from "./connection.ts";

export type Hint =
  /** New ends of logs. */
  | { readonly kind: "heads"; readonly heads: readonly (readonly [taskId: string, head: Seq])[] }
  /** The sender watches these tasks, and wants to hear of their heads. */
  | { readonly kind: "follow"; readonly taskIds: readonly string[] }
  /** There is a mailbox entry for a replica. */
  | { readonly kind: "mailbox"; readonly replica: number; readonly taskId: string }
  /** Tasks of a replica were claimed by another one. */
  | { readonly kind: "lost"; readonly replica: number; readonly taskIds: readonly string[] }
  /** The sender has given up tasks. */
  | { readonly kind: "released" }
  /** Values of a collection were changed. */
  | { readonly kind: "values"; readonly collection: string }
  /** The sender waits until the writes that are under way elsewhere are stored. */
  | { readonly kind: "settle"; readonly id: string; readonly replica: number }
  | { readonly kind: "settled"; readonly id: string; readonly replica: number };

/**
 * Carries hints between processes, so that they need not wait until they look by themselves. A text
 * may be lost, repeated or late; nothing depends on it but time.
 */
export interface Bus {
  /** Whether texts arrive, as far as is known. If not, processes look by themselves more often. */
  readonly isWorking: boolean;
  /** Sends a text of at most 7 kB to all processes, possibly including this one. */
  publish(text: string): void;
  /** Calls `receive` for each text from now on. Called once. */
  subscribe(receive: (text: string) => void): void;
  close(): Promise<void>;
}

/** Postgres delivers up to 8000 bytes. */
const MAX_BYTES = 7000;

/** The hints of one process: those that it sends, and those of others that it receives. */
export class Hints {
  readonly #bus: Bus;
  readonly #self: () => number;

  /** @param self the number of this process, whose own hints are ignored */
  constructor(bus: Bus, self: () => number, receive: (hint: Hint) => void) {
    this.#bus = bus;
    this.#self = self;
    bus.subscribe((text) => {
      const received = readHint(text);
      if (received !== undefined && received.from !== self()) receive(received);
    });
  }

  /** Whether hints arrive, as far as is known. */
  get areArriving(): boolean {
    return this.#bus.isWorking;
  }

  send(hint: Hint): void {
    this.#bus.publish(this.#text(hint));
  }

  /** Sends a hint about many tasks, in as many texts as it needs. */
  sendMany<Item>(items: readonly Item[], toHint: (items: readonly Item[]) => Hint): void {
    if (items.length === 0) return;
    const text = this.#text(toHint(items));
    if (Buffer.byteLength(text) <= MAX_BYTES) return this.#bus.publish(text);
    if (items.length === 1) return;
    const half = Math.ceil(items.length / 2);
    this.sendMany(items.slice(0, half), toHint);
    this.sendMany(items.slice(half), toHint);
  }

  #text(hint: Hint): string {
    return JSON.stringify({ from: this.#self(), ...hint });
  }
}

/** The hint of a text; `undefined` if it is of a version that this one does not know. */
function readHint(text: string): (Hint & { readonly from: number }) | undefined {
  try {
    const hint: unknown = JSON.parse(text);
    if (!isObject(hint) || typeof hint["kind"] !== "string") return undefined;
    return hint as unknown as Hint & { readonly from: number };
  } catch {
    return undefined;
  }
}

const RELISTEN_MS = 1000;

/** How long the last hints may take when a process stops. */
const SEND_MS = 500;

/** How long a notification to oneself may take. */
const PROBE_MS = 1000;

/** What the bus tells the operator. */
export interface BusReports {
  readonly logger?: Pick<Logger, "info" | "warn"> | undefined;
  readonly metrics?: Metrics | undefined;
}

interface NotifyBusOptions extends BusReports {
  readonly channel: string;
  /** Connects for hints. They need not survive anything, so they wait for no disk. */
  readonly connect: () => Connection;
}

/**
 * Hints by LISTEN and NOTIFY on a connection of its own. NOTIFY is apart from the commit: in its
 * transaction it would make all commits wait for each other. Behind a pooler that does not pass
 * notifications on, nothing is received; a notification to oneself finds out.
 */
export class NotifyBus implements Bus {
  readonly #options: NotifyBusOptions;
  readonly #connection: Connection;
  readonly #stopCollecting: (() => void) | undefined;
  readonly #probe = `probe ${randomUUID()}`;
  #receive: (text: string) => void = () => {};
  #again: NodeJS.Timeout | undefined;
  #unanswered: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** `undefined` until it is known. */
  #works: boolean | undefined;
  #waiting: string[] = [];
  #sending: Promise<void> | undefined;

  constructor(options: NotifyBusOptions) {
    this.#options = options;
    this.#connection = options.connect();
    this.#stopCollecting = options.metrics?.collect((add) =>
      add("hintsDown", this.#works === false ? 1 : 0, ["NOTIFY"]),
    );
  }

  get isWorking(): boolean {
    return this.#works === true;
  }

  subscribe(receive: (text: string) => void): void {
    this.#receive = receive;
    void this.#listen();
  }

  publish(text: string): void {
    this.#waiting.push(text);
    this.#sending ??= this.#send();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#again);
    clearTimeout(this.#unanswered);
    this.#stopCollecting?.();
    // Others should hear that this process stops.
    await Promise.race([this.#sending, sleep(SEND_MS, undefined, { ref: false })]);
    await this.#connection.close();
  }

  async #listen(): Promise<void> {
    const again = (): void => {
      if (this.#isClosed) return;
      clearTimeout(this.#again);
      this.#again = setTimeout(() => void this.#listen(), RELISTEN_MS).unref();
    };
    const onNotification = (text: string): void => {
      if (text === this.#probe) this.#answered();
      else this.#receive(text);
    };
    try {
      await this.#connection.listen(this.#options.channel, { onNotification, onLost: again });
      await this.#test();
    } catch (error) {
      if (!this.#isClosed) this.#fails("it is tried again each second", { error });
      again();
    }
  }

  /**
   * Sends a notification to this process, and says so if it does not arrive. It comes from another
   * connection: a pooler may pass on what a connection sends to itself, but nothing else.
   */
  async #test(): Promise<void> {
    const other = this.#options.connect();
    try {
      await other.rows(NOTIFY, [this.#options.channel, [this.#probe]]);
    } finally {
      void other.close();
    }
    if (this.#isClosed || this.isWorking) return;
    const advice = "connect to Postgres directly instead of through a pooler";
    this.#unanswered = setTimeout(() => this.#fails(advice), PROBE_MS).unref();
  }

  #answered(): void {
    clearTimeout(this.#unanswered);
    if (this.#works === false) this.#options.logger?.info("hints between servers arrive again");
    this.#works = true;
  }

  /** @param advice what the operator can do, or what this process does */
  #fails(advice: string, fields: { readonly error?: unknown } = {}): void {
    if (this.#works !== false) {
      const line = `hints between servers do not arrive by NOTIFY, so each looks by itself; ${advice}`;
      this.#options.logger?.warn(line, fields);
    }
    this.#works = false;
  }

  /** One statement is under way at most; what is published meanwhile is sent together. */
  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const texts = this.#waiting;
      this.#waiting = [];
      await this.#connection.rows(NOTIFY, [this.#options.channel, texts]).catch(() => undefined);
    }
    this.#sending = undefined;
  }
}

const NOTIFY = "SELECT pg_notify($1, s.text) FROM unnest($2::text[]) AS s(text)";
