import { backoffMs, sleep } from "@convoke/protocol/internal";
import { isStorageFailure } from "../log/storage-failure.ts";
import type { LogFields, Logger } from "./logger.ts";

/** What is on record, by the names in the log. They are stable, so that alerts can use them. */
export type AuditEvent =
  /** Credentials were not accepted. */
  | "login.failed"
  /** A request was denied: by the host or origin that it names, or because its caller may not do that. */
  | "access.denied"
  /** A caller has used its role to act for all owners. */
  | "access.elevated"
  /** A caller has answered a request for approval. */
  | "approval.answered"
  /** Deliveries of push notifications that were given up were resumed. */
  | "push.replayed"
  /** A test notification was sent. */
  | "push.tested"
  /** A tool that was approved for always needs approvals again. */
  | "grant.removed"
  /** The operator has ended a task. */
  | "task.ended"
  /** A caller has deleted tasks: its own, or as an operator those of others. */
  | "task.deleted"
  /** An operator wants everything about an owner or a conversation erased. */
  | "erasure.requested"
  /** That was done. */
  | "erasure.finished"
  /** An operator has decided whether an agent of the server accepts new tasks. */
  | "agent.enabled"
  | "agent.disabled";

/** An event on record. */
export interface AuditEntry {
  readonly event: AuditEvent;
  /** What is known about it, such as its task and its caller, as JSON. */
  readonly json: string;
}

/** Keeps audit entries in addition to the log: those of several servers together. */
export interface AuditStore {
  /** Resolves when the entry is stored. One that was stored without an answer may be stored again. */
  append(entry: AuditEntry): Promise<void>;
}

/** Events that anybody can cause, without being known. */
const FAILURES: ReadonlySet<AuditEvent> = new Set(["login.failed", "access.denied"]);

/** A flood of rejected requests must not fill the disk. */
const MAX_FAILURES = 100;
const WINDOW_MS = 10_000;

/** How many entries wait for a store that does not answer. */
const MAX_WAITING = 10_000;

const RETRY = { firstMs: 100, longestMs: 5000 };

interface AuditOptions {
  readonly store?: AuditStore | undefined;
  readonly now?: () => number;
  /** When it fires, entries that cannot be stored at once are given up. Default: never. */
  readonly closing?: AbortSignal | undefined;
}

/**
 * Writes who did what to the log: lines with `audit: true` and the name of the event. Failures are
 * warnings, everything else is at level info. Of more than 100 failures in 10 seconds the rest is
 * only counted; the next line has their number as `suppressed`. What is logged is also stored, if
 * there is a store; while it does not answer, entries wait in memory. One that is given up is logged as
 * an error, whatever the level of the log is.
 */
export class Audit {
  readonly #logger: Logger;
  readonly #store: AuditStore | undefined;
  readonly #now: () => number;
  readonly #closing: AbortSignal | undefined;
  /** Entries that are not stored yet, oldest first. */
  readonly #waiting: AuditEntry[] = [];
  #windowStart = -Infinity;
  #failures = 0;
  #suppressed = 0;

  constructor(
    logger: Logger,
    { store, now = () => performance.now(), closing }: AuditOptions = {},
  ) {
    this.#logger = logger;
    this.#store = store;
    this.#now = now;
    this.#closing = closing;
  }

  record(event: AuditEvent, fields: LogFields): void {
    if (!FAILURES.has(event)) return this.#write("info", event, fields);
    if (this.#now() - this.#windowStart >= WINDOW_MS) {
      this.#windowStart = this.#now();
      this.#failures = 0;
    }
    this.#failures++;
    if (this.#failures > MAX_FAILURES) {
      this.#suppressed++;
      return;
    }
    const suppressed = this.#suppressed;
    this.#suppressed = 0;
    this.#write("warn", event, { ...fields, ...(suppressed > 0 && { suppressed }) });
  }

  #write(level: "info" | "warn", event: AuditEvent, fields: LogFields): void {
    this.#logger[level](`audit: ${event}`, { audit: true, event, ...fields });
    if (this.#store === undefined) return;
    const entry = { event, json: JSON.stringify(fields) };
    if (this.#waiting.length === MAX_WAITING) return this.#drop(entry, "too many entries wait");
    if (this.#waiting.push(entry) === 1) void this.#storeAll(this.#store);
  }

  /** Stores the entries one after the other, so that they keep their order. */
  async #storeAll(store: AuditStore): Promise<void> {
    for (let failures = 0; this.#waiting.length > 0;) {
      const entry = this.#waiting[0]!;
      try {
        await store.append(entry);
        this.#waiting.shift();
        failures = 0;
      } catch (error) {
        failures++;
        if (this.#closing?.aborted === true || (isStorageFailure(error) && error.isPermanent)) {
          for (const left of this.#waiting.splice(0)) this.#drop(left, error);
        } else await sleep(backoffMs(failures, RETRY), this.#closing).catch(() => undefined);
      }
    }
  }

  #drop({ event, json }: AuditEntry, error: unknown): void {
    const fields = JSON.parse(json) as LogFields;
    const entry = { audit: true, event, ...fields, error };
    this.#logger.error("an audit entry could not be stored", entry);
  }
}
