import { orAborted } from "@convoke/protocol/internal";
import {
  type A2APart,
  type AgentEvent,
  ENGINE_EVENTS,
  EXTENSIONS,
  type InternalEvent,
  type StatusUpdateEvent,
  type Turn,
  isFinal,
  isMessageReceived,
  isPublic,
} from "@convoke/protocol";
import { callHookNow } from "./hooks.ts";
import { LoopJournal } from "./loop-journal.ts";
import type { LoopSettings } from "./loop-settings.ts";
import type { Outbox } from "./outbox.ts";
import { RunBudget } from "./budget.ts";
import { UsageMeter } from "./usage.ts";
import { requestsIn } from "../approvals/open-request.ts";

/** What every part of one run of the loop needs: its turn, its journal, and how to speak. */
export class LoopScope {
  readonly turn: Turn;
  readonly settings: LoopSettings;
  readonly journal: LoopJournal;
  /** Fires when the task is over, for whatever reason. */
  readonly signal: AbortSignal;
  readonly clock: WorkClock;
  readonly budget: RunBudget;
  /** What it has used so far. */
  usage = new UsageMeter(undefined);
  /** Begins the ids of everything that this run names, the same in each attempt. */
  readonly runId: string;
  readonly #outbox: Outbox;

  constructor(turn: Turn, settings: LoopSettings, outbox: Outbox, signal: AbortSignal) {
    this.turn = turn;
    this.settings = settings;
    this.signal = signal;
    this.#outbox = outbox;
    this.journal = new LoopJournal(turn.journal);
    this.clock = new WorkClock(turn);
    this.budget = new RunBudget(settings.budget, turn);
    this.runId = turn.id();
  }

  /** Appends an event, as the author's hook lets it through. */
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

  /** Notes something in the log of the task. */
  note(facts: Pick<InternalEvent, "kind"> & Readonly<Record<string, unknown>>): void {
    const timestamp = this.turn.now().toISOString();
    this.say({ ...facts, taskId: this.turn.task.id, timestamp } as InternalEvent);
  }

  /** Resolves when everything said so far is committed. */
  durable(): Promise<void> {
    return orAborted(this.#outbox.durable(), this.signal);
  }

  /** Resolves when more may be said; nothing while there is room. */
  room(): Promise<void> | undefined {
    return this.#outbox.room();
  }
}

/** Notes as they are, and the words that end a task or ask its caller. */
function mustBeWritten(event: AgentEvent): boolean {
  if (!isPublic(event)) return true;
  return event.kind === "status-update" && event.status.state !== "working";
}

/** A note stands only for itself; a status may be said in other words. */
function replaces(one: AgentEvent, event: AgentEvent): boolean {
  if (one === event) return true;
  if (!isPublic(event) || event.kind !== "status-update") return false;
  if (!isPublic(one) || one.kind !== "status-update") return false;
  return one.status.state === event.status.state && one.final === isFinal(one.status.state);
}

/**
 * A question in the words of an author's hook, with what the original asks for. By that an answer
 * is taken or refused, and known to be sensitive, so no hook can leave it out.
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
 * How long a task was worked on, from its first model call. The time in which it waited for its
 * caller does not count, nor does the time in which no process worked on it: earlier attempts count
 * from their start to their last note.
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

  /** Work begins, in this attempt. */
  start(): void {
    this.#startedNow ??= this.#now();
  }

  /** The task waited for its caller, in this attempt. */
  addWait(from: Date, to: Date): void {
    this.#waitedMs += Math.max(0, to.getTime() - from.getTime());
  }

  get workedMs(): number {
    const now = this.#now();
    const workedNow = Math.max(0, now - (this.#startedNow ?? now) - this.#waitedMs);
    return this.#workedBefore + workedNow;
  }
}

/** Adds up the times between notes, without those that cross a wait or a restart. */
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
    // An older log has no time for a restart: then work counts from the next note.
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
