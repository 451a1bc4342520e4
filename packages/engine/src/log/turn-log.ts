import {
  type AgentEvent,
  type ArtifactUpdateEvent,
  ENGINE_EVENTS,
  type InternalEvent,
  type Message,
  type MessageReceivedEvent,
  type Metadata,
  type SleepEvent,
  type StatusUpdateEvent,
  type Task,
  type TaskState,
  type TraceContext,
  isInterrupted,
  isMessageReceived,
  isPublic,
  isResumable,
  isSleep,
} from "@convoke/protocol";
import type { Backend, Seq } from "./backend.ts";
import { type TaskSnapshot, applyEntries } from "./task-snapshot.ts";
import { type LogEntry, readEntry } from "./log-entry.ts";

/** The extensions of a message that activates none. */
export const NO_EXTENSIONS: ReadonlySet<string> = new Set();

/**
 * The last turn of a task, reconstructed from its log: everything another
 * process needs to resume it.
 */
export class TurnLog {
  /** The number of the turn within its task, starting at 1. */
  turn = 0;
  /** The message that started the turn, and the task at that time. */
  message!: Message;
  task!: Task;
  /** The extensions that message activated. */
  extensions = NO_EXTENSIONS;
  attempts = 1;
  /** The trace of the caller, taken from the events of the turn. */
  trace: TraceContext | undefined;
  /** The internal events since the turn started, in order: notes of the agent, answers it received, and new attempts. */
  journal: InternalEvent[] = [];
  /** Messages that arrived while the agent was working. */
  inbox: Message[] = [];
  /** Status updates with a message, in order. */
  statuses: StatusUpdateEvent[] = [];
  /** Ids of the artifacts that the agent marked as complete. */
  closed = new Set<string>();
  /** Whether the turn ended although the task did not: the next message starts another turn. */
  isOver = false;
  isCanceled = false;
  /** The sleep the agent is in, if nothing has happened since it started. */
  sleep: SleepEvent | undefined;
  /** The last sequence that was read. */
  head: Seq = 0;
  #state: TaskState = "submitted";

  /** Whether the agent can resume the turn from its journal: one of its events says so. */
  get isDurable(): boolean {
    return this.journal.some(isResumable);
  }

  /** Whether the turn waits for the answer to a question in its journal. */
  get isAsking(): boolean {
    return openQuestion(this.journal) !== undefined;
  }

  /** Whether the agent keeps running while it waits, because it watches the subject of its question. */
  get isWatched(): boolean {
    return openQuestion(this.journal)?.["isWatched"] === true;
  }

  /** When the question expires, in milliseconds since the epoch, if it does. */
  get until(): number | undefined {
    return askedUntil(this.journal);
  }

  /** Replaces the stored form of a message, which may be redacted, with the message as it was sent. */
  restoreMessage(message: Message): void {
    const { messageId } = message;
    const place = this.journal.findLastIndex(
      (event) => isMessageReceived(event) && event.message.messageId === messageId,
    );
    const event = this.journal[place];
    if (event !== undefined) this.journal = this.journal.with(place, { ...event, message });
  }

  /** @param taskNow returns the task after this entry */
  add({ event, seq }: LogEntry, taskNow: () => Task): void {
    this.head = seq;
    if (isPublic(event)) this.#addPublic(event);
    else if (isMessageReceived(event)) this.#addMessage(event.message, event, taskNow);
    else this.#addNote(event);
  }

  #addPublic(event: AgentEvent): void {
    if (event.kind === "task") {
      const task = event as Task;
      this.#begin(task.history?.at(-1), () => task);
    }
    this.trace ??= traceIn((event as Task).metadata);
    if (event.kind === "status-update") {
      const update = event as StatusUpdateEvent;
      this.#state = update.status.state;
      if (this.#state === "working" && update.status.message !== undefined)
        this.statuses.push(update);
    } else if (event.kind === "artifact-update") {
      const { artifact, lastChunk } = event as ArtifactUpdateEvent;
      if (lastChunk === true) this.closed.add(artifact.artifactId);
      this.sleep = undefined;
    }
  }

  #addMessage(message: Message, event: InternalEvent, taskNow: () => Task): void {
    if (this.isOver) {
      this.#begin(message, taskNow);
      this.extensions = activatedIn(event);
      return;
    }
    if (isInterrupted(this.#state)) this.journal.push(event);
    else this.inbox.push(message);
  }

  #addNote(event: InternalEvent): void {
    if (isActivatedNote(event)) {
      this.extensions = activatedIn(event);
      return;
    }
    this.sleep = isSleep(event) ? event : undefined;
    if (event.kind === ENGINE_EVENTS.turnEnd) this.isOver = true;
    else if (event.kind === ENGINE_EVENTS.cancel) this.isCanceled = true;
    else this.journal.push(event);
    if (event.kind === ENGINE_EVENTS.attempt) this.attempts = Number(event["attempt"]);
  }

  #begin(message: Message | undefined, taskNow: () => Task): void {
    if (message === undefined) return;
    this.turn++;
    this.message = message;
    this.task = taskNow();
    this.extensions = NO_EXTENSIONS;
    this.attempts = 1;
    this.trace = undefined;
    this.journal = [];
    this.inbox = [];
    this.statuses = [];
    this.closed = new Set();
    this.isOver = false;
    this.isCanceled = false;
  }
}

function traceIn(metadata: Metadata | undefined): TraceContext | undefined {
  const { traceId, spanId } = metadata ?? {};
  return typeof traceId === "string" && typeof spanId === "string"
    ? { traceId, spanId }
    : undefined;
}

/** A question, and the events that end the wait for its answer. */
const ASKING: ReadonlySet<string> = new Set([
  "internal:ask",
  "internal:message" satisfies MessageReceivedEvent["kind"],
  ENGINE_EVENTS.expired,
  ENGINE_EVENTS.recalled,
]);

/** The pending question of a turn. */
function openQuestion(journal: readonly InternalEvent[]): InternalEvent | undefined {
  const last = journal.findLast(({ kind }) => ASKING.has(kind));
  return last?.kind === "internal:ask" ? last : undefined;
}

/** When the pending question expires, in milliseconds since the epoch, if it does. */
export function askedUntil(journal: readonly InternalEvent[]): number | undefined {
  const until = openQuestion(journal)?.["until"];
  return typeof until === "string" ? Date.parse(until) : undefined;
}

const PAGE = 256;

/** The last turn of a task, and the task itself. */
export interface TurnLogAndSnapshot {
  readonly log: TurnLog;
  readonly snapshot: TaskSnapshot;
}

/** Reads the log of a task. Events are applied page by page, and in between only where a turn starts. */
export async function readTurnLog(backend: Backend, taskId: string): Promise<TurnLogAndSnapshot> {
  const log = new TurnLog();
  let snapshot: TaskSnapshot | undefined;
  for (let after: Seq = 0; ;) {
    const page = (await backend.read(taskId, after, PAGE)).map(readEntry);
    let applied = 0;
    for (const [index, entry] of page.entries()) {
      log.add(entry, () => {
        snapshot = applyEntries(snapshot, page.slice(applied, index + 1));
        applied = index + 1;
        return snapshot.task;
      });
    }
    if (applied < page.length || snapshot === undefined) {
      snapshot = applyEntries(snapshot, page.slice(applied));
    }
    if (page.length < PAGE) return { log, snapshot };
    after = page.at(-1)?.seq ?? after;
  }
}

const ACTIVATED = "internal:activated";

/**
 * Records which extensions the first message of a task activated. It is an event of its own,
 * because the task event is shown to clients as it is stored; events of later messages carry it
 * themselves.
 */
export function activatedNote(
  taskId: string,
  extensions: ReadonlySet<string> = NO_EXTENSIONS,
): readonly AgentEvent[] {
  return extensions.size === 0 ? [] : [{ kind: ACTIVATED, taskId, ...activatedFields(extensions) }];
}

function isActivatedNote({ kind }: InternalEvent): boolean {
  return kind === ACTIVATED;
}

/** The activated extensions as fields of an event; none if no extension is active. */
export function activatedFields(extensions: ReadonlySet<string> = NO_EXTENSIONS): {
  readonly extensions?: readonly string[];
} {
  return extensions.size === 0 ? {} : { extensions: [...extensions] };
}

/** The extensions that an event of the log says were activated. */
function activatedIn(event: InternalEvent): ReadonlySet<string> {
  const extensions = event["extensions"];
  return Array.isArray(extensions) ? new Set(extensions as readonly string[]) : NO_EXTENSIONS;
}

/** The number of the turn that the event at `seq` ended, if it ended one. */
export async function turnEndedAt(
  backend: Backend,
  taskId: string,
  seq: Seq,
): Promise<number | undefined> {
  const [stored] = await backend.read(taskId, seq - 1, 1);
  const event = stored && readEntry(stored).event;
  return event?.kind === ENGINE_EVENTS.turnEnd
    ? Number((event as InternalEvent)["turn"])
    : undefined;
}
