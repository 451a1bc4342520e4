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
  /** An operator checks an agent of the server. */
  | "check.started"
  /** The operator has ended a task. */
  | "task.ended"
  /** An operator has changed the agents of the server. */
  | "agent.added"
  | "agent.edited"
  | "agent.enabled"
  | "agent.disabled"
  | "agent.removed";

/** An event on record. */
export interface AuditEntry {
  readonly event: AuditEvent;
  /** What is known about it, such as its task and its caller, as JSON. */
  readonly json: string;
}

/** Keeps audit entries in addition to the log: those of several servers together. */
export interface AuditStore {
  /** Resolves when the entry is stored. */
  append(entry: AuditEntry): Promise<void>;
}

/** Events that anybody can cause, without being known. */
const FAILURES: ReadonlySet<AuditEvent> = new Set(["login.failed", "access.denied"]);

/** A flood of rejected requests must not fill the disk. */
const MAX_FAILURES = 100;
const WINDOW_MS = 10_000;

/**
 * Writes who did what to the log: lines with `audit: true` and the name of the event. Failures are
 * warnings, everything else is at level info. Of more than 100 failures in 10 seconds the rest is
 * only counted; the next line has their number as `suppressed`. What is logged is also stored, if
 * there is a store.
 */
export class Audit {
  readonly #logger: Logger;
  readonly #store: AuditStore | undefined;
  readonly #now: () => number;
  #windowStart = -Infinity;
  #failures = 0;
  #suppressed = 0;

  constructor(
    logger: Logger,
    {
      store,
      now = () => performance.now(),
    }: { readonly store?: AuditStore | undefined; readonly now?: () => number } = {},
  ) {
    this.#logger = logger;
    this.#store = store;
    this.#now = now;
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

  /** An entry that cannot be stored is logged as an error, whatever the level of the log is. */
  #write(level: "info" | "warn", event: AuditEvent, fields: LogFields): void {
    this.#logger[level](`audit: ${event}`, { audit: true, event, ...fields });
    this.#store?.append({ event, json: JSON.stringify(fields) }).catch((error: unknown) => {
      const entry = { audit: true, event, ...fields };
      this.#logger.error("an audit entry could not be stored", { ...entry, error });
    });
  }
}
