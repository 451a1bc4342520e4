import {
  type AgentEvent,
  type ArtifactUpdateEvent,
  type InternalEvent,
  type Message,
  type MessageReceivedEvent,
  type Metadata,
  NOTES,
  type SleepEvent,
  type StatusUpdateEvent,
  type Task,
  type TaskState,
  type TraceContext,
  isInterrupted,
  isMessageReceived,
  isPublic,
  isSleep,
} from "@convoke/protocol";
import { NO_EXTENSIONS, activatedIn, isActivatedNote } from "./activated.ts";
import type { Backend, Seq } from "./backend.ts";
import { type Folded, foldMore } from "./load-task.ts";
import { type LogEntry, readEntry } from "./log-entry.ts";

/**
 * What the log says of the task's last turn: everything a process that never
 * saw it needs to go on with it.
 */
export class TurnLog {
  /** Which turn of the task it is, from 1. */
  turn = 0;
  /** The message that began it, and the task as it stood then. */
  message!: Message;
  task!: Task;
  /** What that message had activated. */
  extensions = NO_EXTENSIONS;
  attempts = 1;
  /** The trace of its caller, as its events carry it. */
  trace: TraceContext | undefined;
  /** What the agent noted and was told since, in order, and where it was restarted. */
  journal: InternalEvent[] = [];
  /** Messages that came while it worked. */
  inbox: Message[] = [];
  /** What it said about itself. */
  statuses: StatusUpdateEvent[] = [];
  /** Artifacts that it marked as complete. */
  closed = new Set<string>();
  /** It ended by itself, although the task goes on: the next message begins another. */
  isOver = false;
  isCanceled = false;
  /** It sleeps: nothing happened since it said so. */
  sleep: SleepEvent | undefined;
  /** How far the log was read. */
  head: Seq = 0;
  #state: TaskState = "submitted";

  /** Whether the turn can be gone on with: a finished step is not run again, a question not asked again. */
  get isDurable(): boolean {
    return this.journal.some(({ kind }) => DURABLE.has(kind));
  }

  /** Whether it waits for the answer to a question that it noted. */
  get isAsking(): boolean {
    return openQuestion(this.journal) !== undefined;
  }

  /** Whether the agent watches meanwhile what it asks for, so that it must run while it waits. */
  get isWatched(): boolean {
    return openQuestion(this.journal)?.["isWatched"] === true;
  }

  /** When that question expires, in milliseconds, if it does. */
  get until(): number | undefined {
    return askedUntil(this.journal);
  }

  /** Puts a message as it was sent in the place of what the log has of it. */
  tell(message: Message): void {
    this.journal = this.journal.map((event) =>
      isMessageReceived(event) && event.message.messageId === message.messageId
        ? { ...event, message }
        : event,
    );
  }

  /** `taskNow` folds the log up to and including the entry. */
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
    if (event.kind === NOTES.turnEnd) this.isOver = true;
    else if (event.kind === NOTES.cancel) this.isCanceled = true;
    else this.journal.push(event);
    if (event.kind === NOTES.attempt) this.attempts = Number(event["attempt"]);
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

/** Notes whose presence says that the agent keeps a journal it can be resumed by. */
const DURABLE: ReadonlySet<string> = new Set([
  "internal:step-start",
  "internal:step-end",
  "internal:ask",
  "internal:sleep",
  "internal:llm-call",
  "internal:remote-task",
]);

function traceIn(metadata: Metadata | undefined): TraceContext | undefined {
  const { traceId, spanId } = metadata ?? {};
  return typeof traceId === "string" && typeof spanId === "string"
    ? { traceId, spanId }
    : undefined;
}

/** A question, and what ends the wait for its answer. */
const ASKING: ReadonlySet<string> = new Set([
  "internal:ask",
  "internal:message" satisfies MessageReceivedEvent["kind"],
  NOTES.expired,
  NOTES.recalled,
]);

/** The question of a turn that nothing has ended. */
function openQuestion(journal: readonly InternalEvent[]): InternalEvent | undefined {
  const last = journal.findLast(({ kind }) => ASKING.has(kind));
  return last?.kind === "internal:ask" ? last : undefined;
}

/** When it expires, in milliseconds, if it does. */
export function askedUntil(journal: readonly InternalEvent[]): number | undefined {
  const until = openQuestion(journal)?.["until"];
  return typeof until === "string" ? Date.parse(until) : undefined;
}

const PAGE = 256;

/** A log, read whole: its last turn and its fold. */
export interface WholeLog {
  readonly log: TurnLog;
  readonly folded: Folded;
}

/** Reads a log for its last turn. Folds in whole pages, and in between only where a turn begins. */
export async function readTurnLog(backend: Backend, taskId: string): Promise<WholeLog> {
  const log = new TurnLog();
  let folded: Folded | undefined;
  for (let after: Seq = 0; ;) {
    const page = (await backend.read(taskId, after, PAGE)).map(readEntry);
    let unfolded = 0;
    for (const [place, entry] of page.entries()) {
      log.add(entry, () => {
        folded = foldMore(folded, page.slice(unfolded, place + 1));
        unfolded = place + 1;
        return folded.task;
      });
    }
    if (unfolded < page.length || folded === undefined) {
      folded = foldMore(folded, page.slice(unfolded));
    }
    if (page.length < PAGE) return { log, folded };
    after = page.at(-1)?.seq ?? after;
  }
}
