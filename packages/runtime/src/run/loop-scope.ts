import { orAborted } from "@convoke/protocol/internal";
import {
  type A2APart,
  type AgentEvent,
  ENGINE_EVENTS,
  EXTENSIONS,
  type InternalEvent,
  type StatusUpdateEvent,
  type TraceContext,
  type Turn,
  isFinal,
  isMessageReceived,
  isPublic,
} from "@convoke/protocol";
import { createHash } from "node:crypto";
import type { AgentModel } from "./agent-models.ts";
import { callHookNow } from "./hooks.ts";
import { LoopJournal } from "./loop-journal.ts";
import type { LoopSettings } from "./loop-settings.ts";
import type { Outbox } from "./outbox.ts";
import { RunBudget } from "./budget.ts";
import { currentTape } from "./tape.ts";
import { Secrets } from "../approvals/secrets.ts";
import { UsageMeter } from "./usage.ts";
import { requestsIn } from "../approvals/open-request.ts";

/** What every part of one run shares: its turn, its journal, and the methods that emit events. */
export class LoopScope {
  readonly turn: Turn;
  readonly settings: LoopSettings;
  readonly journal: LoopJournal;
  /** Fires when the task is over, for whatever reason. */
  readonly signal: AbortSignal;
  readonly clock: WorkClock;
  readonly budget: RunBudget;
  readonly usage = new UsageMeter();
  /** The model that answers now. */
  model: AgentModel;
  /** Prefix of all ids that this run creates, identical in every attempt. */
  readonly runId: string;
  readonly secrets = new Secrets();
  /** Records or replays the run, if a test does. */
  readonly tape = currentTape();
  readonly #outbox: Outbox;
  /** What has begun, by its id: called when it has ended. */
  readonly #begun = new Map<string, () => Promise<void>>();

  constructor(turn: Turn, settings: LoopSettings, outbox: Outbox, signal: AbortSignal) {
    this.turn = turn;
    this.settings = settings;
    this.signal = signal;
    this.#outbox = outbox;
    this.journal = new LoopJournal(turn.journal);
    this.model = settings.models.find(this.journal.nextModel);
    this.clock = new WorkClock(turn);
    this.budget = new RunBudget(settings.budget, turn);
    this.runId = turn.id();
  }

  /**
   * The trace of the caller, with the span of this run if there is one; or a trace derived from the
   * task id, so that it is the same in every attempt.
   */
  get trace(): TraceContext {
    return this.turn.trace ?? ownTrace(this.turn.task.id);
  }

  /** Emits an event, after the author's `transformEvent` hook has had a chance to change it. */
  say(event: AgentEvent): void {
    const { transformEvent } = this.settings.hooks;
    if (transformEvent === undefined) return this.#outbox.put(event);
    const given = callHookNow("transformEvent", () => transformEvent(event, this.turn));
    const events = given === undefined ? [] : [given].flat();
    if (mustBeWritten(event) && !events.some((one) => replaces(one, event))) {
      this.#outbox.put(event);
    }
    for (const one of events)
      this.#outbox.put(replaces(one, event) ? keepRequests(one, event) : one);
    return undefined;
  }

  /** Records an internal event in the log of the task. */
  note(facts: NoteFacts): void {
    this.say(this.#noteOf(facts));
  }

  #noteOf(facts: NoteFacts): InternalEvent {
    const timestamp = this.turn.now().toISOString();
    return { ...facts, taskId: this.turn.task.id, timestamp } as InternalEvent;
  }

  /**
   * Call it before something begins that a stop of the server must not cut, and `ended` once its end
   * is recorded. Resolves when it may begin: if a note announces it, that is committed.
   */
  async begin(id: string, name: string, start?: NoteFacts): Promise<void> {
    const event = start && this.#noteOf(start);
    const announce = (): Promise<void> => {
      this.say(event!);
      return this.#outbox.taken();
    };
    const begun = this.turn.begin({ name, ...(event && { start: { event, announce } }) });
    this.#begun.set(id, await orAborted(begun, this.signal));
  }

  /** What has begun has ended, or need not end here any more. */
  ended(id: string): void {
    void this.#begun.get(id)?.();
    this.#begun.delete(id);
  }

  /** Resolves when everything emitted so far is committed. */
  durable(): Promise<void> {
    return orAborted(this.#outbox.durable(), this.signal);
  }

  /** Resolves when more events may be emitted; undefined while there is room. */
  room(): Promise<void> | undefined {
    return this.#outbox.room();
  }
}

type NoteFacts = Pick<InternalEvent, "kind"> & Readonly<Record<string, unknown>>;

function ownTrace(taskId: string): TraceContext {
  const digest = createHash("sha256").update(taskId).digest("hex");
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) };
}

/**
 * Whether a hook may not drop the event: internal events, and statuses that end the task or ask its
 * caller.
 */
function mustBeWritten(event: AgentEvent): boolean {
  if (!isPublic(event)) return true;
  return event.kind === "status-update" && event.status.state !== "working";
}

/**
 * Whether `one` stands in for `event`. An internal event must stay as it is; a status may be
 * reworded.
 */
function replaces(one: AgentEvent, event: AgentEvent): boolean {
  if (one === event) return true;
  if (!isPublic(event) || event.kind !== "status-update") return false;
  if (!isPublic(one) || one.kind !== "status-update") return false;
  return one.status.state === event.status.state && one.final === isFinal(one.status.state);
}

/**
 * Restores the requests of a question that an author's hook has reworded. Answers are validated
 * against these requests, and sensitive input is recognized by them, so a hook must not be able to
 * remove them.
 */
function keepRequests(said: AgentEvent, original: AgentEvent): AgentEvent {
  const asked = (original as StatusUpdateEvent).status?.message;
  if (said === original || original.kind !== "status-update" || asked === undefined) return said;
  if (said.kind !== "status-update" || requestsIn(asked).length === 0) return said;
  const update = said as StatusUpdateEvent;
  const message = update.status.message ?? { ...asked, parts: [] };
  const parts = [
    ...message.parts.filter((part) => !isMarked(part)),
    ...asked.parts.filter(isMarked),
  ];
  const metadata = { ...message.metadata, ...asked.metadata };
  const hasMetadata = Object.keys(metadata).length > 0;
  const kept = { ...message, parts, ...(hasMetadata && { metadata }) };
  return { ...update, status: { ...update.status, message: kept } };
}

const URIS = [EXTENSIONS.approvals.uri, EXTENSIONS.clientTools.uri] as const;

function isMarked({ metadata }: A2APart): boolean {
  return URIS.some((uri) => metadata?.[uri] !== undefined);
}

/**
 * Measures how long a task was worked on, starting with its first model call. Time spent waiting
 * for the caller does not count, and neither does time in which no process worked on it: earlier
 * attempts count from their start to their last recorded event.
 */
export class WorkClock {
  /** When the first model call was made; absent before it. */
  readonly startedAt: Date | undefined;
  readonly #now: () => number;
  readonly #workedBefore: number;
  #startedNow: number | undefined;
  #waitedMs = 0;

  constructor({ now, journal }: Pick<Turn, "now" | "journal">) {
    this.#now = () => now().getTime();
    const { startedAt, workedMs } = earlierWork(journal);
    this.startedAt = startedAt === undefined ? undefined : new Date(startedAt);
    this.#workedBefore = workedMs;
  }

  /** Starts the clock for this attempt. */
  start(): void {
    this.#startedNow ??= this.#now();
  }

  /** Subtracts time in which the task waited for its caller in this attempt. */
  addWait(from: Date, to: Date): void {
    this.#waitedMs += Math.max(0, to.getTime() - from.getTime());
  }

  get workedMs(): number {
    const now = this.#now();
    const workedNow = Math.max(0, now - (this.#startedNow ?? now) - this.#waitedMs);
    return this.#workedBefore + workedNow;
  }
}

/** Sums the intervals between recorded events, except those that span a wait or a restart. */
function earlierWork(journal: readonly InternalEvent[]): {
  readonly startedAt: number | undefined;
  readonly workedMs: number;
} {
  let startedAt: number | undefined;
  let last: number | undefined;
  let isWaiting = false;
  let workedMs = 0;
  for (const event of journal) {
    const at = timeIn(event);
    const isRestart = event.kind === ENGINE_EVENTS.attempt;
    const endsWait = isWaiting && isWaitEnd(event);
    if (startedAt === undefined && event.kind === "internal:llm-call") startedAt = at;
    else if (startedAt !== undefined && !isRestart && !isWaiting && at !== undefined) {
      workedMs += Math.max(0, at - (last ?? at));
    }
    // Older logs have no timestamp for a restart; then work counts from the next event.
    if (isRestart || at !== undefined) last = at;
    if (endsWait) isWaiting = false;
    else if (event.kind === "internal:ask") isWaiting = true;
  }
  return { startedAt, workedMs };
}

function isWaitEnd(event: InternalEvent): boolean {
  return (
    isMessageReceived(event) ||
    event.kind === ENGINE_EVENTS.expired ||
    event.kind === ENGINE_EVENTS.recalled
  );
}

function timeIn({ timestamp }: InternalEvent): number | undefined {
  return typeof timestamp === "string" ? Date.parse(timestamp) : undefined;
}
