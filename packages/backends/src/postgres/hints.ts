import { isObject } from "@convoke/protocol/internal";
import type { Seq } from "@convoke/engine";
import type { Connection } from "./connection.ts";

/**
 * Tells other processes that something has happened, so that they need not wait until they look by
 * themselves. A hint may be lost, repeated or late; nothing depends on it but time.
 */
export interface HintBus {
  /** Sends a text of at most 7 kB to all processes, including this one. */
  publish(text: string): void;
  /** Calls `receive` for each text from now on. */
  subscribe(receive: (text: string) => void): void;
  close(): Promise<void>;
}

export type Hint =
  /** New ends of logs. */
  | { readonly kind: "heads"; readonly heads: readonly (readonly [taskId: string, head: Seq])[] }
  /** The sender watches these tasks, and wants to hear of their heads. */
  | { readonly kind: "follow"; readonly taskIds: readonly string[] }
  /** There are mailbox entries for a replica. */
  | { readonly kind: "mailbox"; readonly replica: number }
  /** Tasks of a replica were claimed by another one. */
  | { readonly kind: "lost"; readonly replica: number; readonly taskIds: readonly string[] }
  /** Values of a collection were changed. */
  | { readonly kind: "values"; readonly collection: string }
  /** The sender waits until the writes that are under way elsewhere are stored. */
  | { readonly kind: "settle"; readonly id: string; readonly replica: number }
  | { readonly kind: "settled"; readonly id: string; readonly replica: number };

/** Postgres delivers up to 8000 bytes. */
const MAX_BYTES = 7000;

/** The hints of one process: those that it sends, and those of others that it receives. */
export class Hints {
  readonly #bus: HintBus;
  readonly #self: () => number;

  /** @param self the number of this process, whose own hints are ignored */
  constructor(bus: HintBus, self: () => number, receive: (hint: Hint) => void) {
    this.#bus = bus;
    this.#self = self;
    bus.subscribe((text) => {
      const received = readHint(text);
      if (received !== undefined && received.from !== self()) receive(received);
    });
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

/**
 * Hints by LISTEN and NOTIFY on a connection of its own. NOTIFY is apart from the commit: in its
 * transaction it would make all commits wait for each other. Behind a pooler that does not pass
 * notifications on, nothing is received, and processes look by themselves.
 */
export class NotifyBus implements HintBus {
  readonly #connection: Connection;
  readonly #channel: string;
  #receive: (text: string) => void = () => {};
  #again: NodeJS.Timeout | undefined;
  #isClosed = false;
  #waiting: string[] = [];
  #isSending = false;

  constructor(connection: Connection, channel: string) {
    this.#connection = connection;
    this.#channel = channel;
  }

  subscribe(receive: (text: string) => void): void {
    this.#receive = receive;
    void this.#listen();
  }

  publish(text: string): void {
    this.#waiting.push(text);
    if (!this.#isSending) void this.#send();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#again);
    await this.#connection.close();
  }

  async #listen(): Promise<void> {
    const again = (): void => {
      if (this.#isClosed) return;
      clearTimeout(this.#again);
      this.#again = setTimeout(() => void this.#listen(), RELISTEN_MS).unref();
    };
    const events = { onNotification: (text: string) => this.#receive(text), onLost: again };
    await this.#connection.listen(this.#channel, events).catch(again);
  }

  /** One statement is under way at most; what is published meanwhile is sent together. */
  async #send(): Promise<void> {
    this.#isSending = true;
    while (this.#waiting.length > 0) {
      const texts = this.#waiting;
      this.#waiting = [];
      await this.#connection.rows(NOTIFY, [this.#channel, texts]).catch(() => undefined);
    }
    this.#isSending = false;
  }
}

const NOTIFY = "SELECT pg_notify($1, s.text) FROM unnest($2::text[]) AS s(text)";
