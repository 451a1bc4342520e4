import {
  type AgentEvent,
  type AgentInfo,
  type InternalEvent,
  type StatusUpdateEvent,
  isInterrupted,
  isSleep,
  type Task,
} from "@convoke/protocol";

/** A clock that is set back further than this is believed; less than this must not reorder tasks. */
const MAX_BACK_MS = 60_000;

/**
 * The clock for everything that is written, in milliseconds. A list shows one
 * instant, and within one millisecond earlier and later writes would be
 * indistinguishable, so everything written after a list has started gets a
 * later time.
 */
export class TaskClock {
  readonly #clock: () => number;
  /** The last time that was returned. */
  #latest = 0;
  /** The earliest time that may be returned. */
  #floor = 0;
  #lastCreation = { at: 0, hasChosenId: false };

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  now(): number {
    this.#latest = Math.max(this.#clock(), this.#floor);
    return this.#latest;
  }

  /**
   * The creation time of a new task. The tasks of a conversation are ordered by it, so it does not
   * precede the creation before it, even if the clock was set back a little meanwhile. Generated
   * ids order what was created in the same millisecond; an id chosen by the caller says nothing
   * about order, so its task shares its millisecond with no other.
   */
  creation({ hasChosenId }: { readonly hasChosenId: boolean }): number {
    const { at: last, hasChosenId: wasChosen } = this.#lastCreation;
    const now = this.now();
    const earliest = hasChosenId || wasChosen ? last + 1 : last;
    const at = now < earliest && now > last - MAX_BACK_MS ? earliest : now;
    this.#lastCreation = { at, hasChosenId };
    this.#latest = Math.max(this.#latest, at);
    return at;
  }

  /** Another process created a task at this time: the next creation of this one is later. */
  follow(at: number): void {
    if (at > this.#lastCreation.at) this.#lastCreation = { at, hasChosenId: true };
  }

  /** The current instant: earlier writes have at most this time, later writes have a later one. */
  instant(): number {
    const at = Math.max(this.#clock(), this.#latest);
    this.#floor = at + 1;
    return at;
  }
}

let lastIso = { ms: Number.NaN, text: "" };

/** Formats a time as ISO 8601. Cached, because many statuses share a millisecond and formatting is slow. */
export function isoTime(ms: number): string {
  if (ms !== lastIso.ms) lastIso = { ms, text: new Date(ms).toISOString() };
  return lastIso.text;
}

/** Parses such a time. Most are of the same millisecond as the last one that was formatted. */
export function parseIsoTime(text: string): number {
  return text === lastIso.text ? lastIso.ms : Date.parse(text);
}

/** When a task times out, if it does: the earlier of the agent's limit and that of the task. */
export function taskDeadline(
  info: AgentInfo,
  createdAt: number,
  ownTimeoutMs: number | undefined,
): number | undefined {
  const limits = [info.timeoutMs, ownTimeoutMs].filter((ms) => ms !== undefined);
  return limits.length === 0 ? undefined : createdAt + Math.min(...limits);
}

/** The time limit of one task is in its metadata, because it has to survive a restart. */
export function ownTimeout({ metadata }: Task): number | undefined {
  const ms = metadata?.["timeoutMs"];
  return typeof ms === "number" && ms > 0 ? ms : undefined;
}

/**
 * The wake time of a task after an event: `null` for none, `undefined` if the
 * event does not change it. A task has one wake time: the earliest of its
 * deadline, the end of its sleep and the end of its wait for an answer.
 */
export function wakeTimeAfter(
  event: AgentEvent,
  facts: {
    readonly info: AgentInfo;
    readonly deadline: number | undefined;
    /** When the question that the event asks expires. */
    readonly until: number | undefined;
    /** The wake time before the event, which may be that of another wait. */
    readonly wakeAt: number | undefined;
    readonly now: () => number;
  },
): number | null | undefined {
  const { info, deadline, until, wakeAt, now } = facts;
  if (event.kind === "internal:sleep" && isSleep(event as InternalEvent)) {
    return earliest([deadline, wakeAt, Date.parse((event as InternalEvent)["until"] as string)]);
  }
  if (event.kind !== "status-update") return undefined;
  const { state } = (event as StatusUpdateEvent).status;
  const hasTimeout = state === "input-required" && info.inputTimeout !== undefined;
  if (!isInterrupted(state) || (!hasTimeout && until === undefined)) return undefined;
  return earliest([deadline, wakeAt, until, hasTimeout ? now() + info.inputTimeout.ms : undefined]);
}

/** The earliest of the times that there are; `null` for none. */
export function earliest(times: readonly (number | undefined)[]): number | null {
  const known = times.filter((at) => at !== undefined);
  return known.length === 0 ? null : Math.min(...known);
}
