import {
  type A2APart,
  type AgentEvent,
  type ArtifactUpdateEvent,
  type Caller,
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
  isWokenBy,
} from "@convoke/protocol";
import type { Backend, Seq } from "./backend.ts";
import { type TaskSnapshot, applyEntries } from "./task-snapshot.ts";
import { type LogEntry, readEntries, readEntry } from "./log-entry.ts";

/** The extensions of a message that activates none. */
export const NO_EXTENSIONS: ReadonlySet<string> = new Set();

/**
 * The last turn of a task, reconstructed from its log: everything another
 * process needs to resume it.
 */
export class TurnLog {
  /** The number of the turn within its task, starting at 1; 0 if the task waits for its first message. */
  turn = 0;
  /** The message that started the turn, and the task at that time. */
  message!: Message;
  task!: Task;
  /** When the turn started, ISO 8601, if that is known. */
  startedAt: string | undefined;
  /** The extensions that message activated. */
  extensions = NO_EXTENSIONS;
  /** What is known about the sender of that message in addition to the owner of the task. */
  caller: Omit<Caller, "owner"> = {};
  attempts = 1;
  /** How many attempts before the last one, and since the last progress, ended with their process. */
  crashes = 0;
  /** The ids of the processes that those crashes ended, as far as they are known. */
  lost: readonly string[] = [];
  /** The internal events since the turn started, in order: notes of the agent, answers it received, and new attempts. */
  journal: InternalEvent[] = [];
  /** Messages that arrived while the agent was working. */
  inbox: Message[] = [];
  /** Status updates with a message, in order. */
  statuses: StatusUpdateEvent[] = [];
  /** Ids of the artifacts that the agent marked as complete. */
  closed = new Set<string>();
  /** Earlier versions of artifacts that came as a whole and were replaced, in order. */
  replaced = new Map<string, readonly (readonly A2APart[])[]>();
  /** Whether the turn ended although the task did not: the next message starts another turn. */
  isOver = false;
  isCanceled = false;
  /** Whether the agent has written nothing but `working` in this turn, so that it can begin again. */
  isUntouched = true;
  /** Whether the agent sleeps and has done nothing since. */
  isAsleep = false;
  /** Whether something else is under way in addition to what the agent waits for. */
  isAlongside = false;
  /** The last sequence that was read. */
  head: Seq = 0;
  #whole = new Map<string, readonly A2APart[]>();
  #state: TaskState = "submitted";
  #traceIds: TraceContext | undefined;
  #traceRest: SenderFields["trace"] = {};

  /** The trace of the caller. Its ids are in the events of the turn. */
  get trace(): TraceContext | undefined {
    return this.#traceIds && { ...this.#traceIds, ...this.#traceRest };
  }

  /** Whether the task has not received its first message yet, so that there is no turn. */
  get isEmpty(): boolean {
    return this.turn === 0;
  }

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

  /** When the next sleep ends, in milliseconds since the epoch, if the agent sleeps. */
  get timer(): number | undefined {
    const times = this.#sleeps.map(({ until }) => Date.parse(until));
    return times.length === 0 ? undefined : Math.min(...times);
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
      this.startedAt = task.status.timestamp;
    }
    this.#traceIds ??= traceIn((event as Task).metadata);
    if (event.kind === "status-update") {
      const update = event as StatusUpdateEvent;
      this.#state = update.status.state;
      const isPlain = update.status.message === undefined;
      if (this.#state === "working" && !isPlain) this.statuses.push(update);
      if (this.#state !== "working" || !isPlain) this.isUntouched = false;
    } else if (event.kind === "artifact-update") {
      this.isUntouched = false;
      this.#addArtifact(event as ArtifactUpdateEvent);
      this.isAsleep = false;
    }
  }

  #addArtifact({ artifact: { artifactId, parts }, append, lastChunk }: ArtifactUpdateEvent): void {
    const before = this.#whole.get(artifactId);
    if (append !== true && before !== undefined) {
      this.replaced.set(artifactId, [...(this.replaced.get(artifactId) ?? []), before]);
    }
    if (append !== true && lastChunk === true) this.#whole.set(artifactId, parts);
    else this.#whole.delete(artifactId);
    if (lastChunk === true) this.closed.add(artifactId);
    else this.closed.delete(artifactId);
  }

  #addMessage(message: Message, event: InternalEvent, taskNow: () => Task): void {
    if (this.isOver || this.isEmpty) {
      this.#begin(message, taskNow);
      this.startedAt = (event as MessageReceivedEvent).timestamp;
      this.#addSender(event);
      return;
    }
    if (!isInterrupted(this.#state)) {
      this.inbox.push(message);
      return;
    }
    this.journal.push(event);
    this.isAsleep = false;
    this.#forgetCrashes();
  }

  #forgetCrashes(): void {
    this.crashes = 0;
    this.lost = [];
  }

  #addNote(event: InternalEvent): void {
    if (event.kind === ACTIVATED) return this.#addSender(event);
    this.#addWork(event);
    if (event.kind === ENGINE_EVENTS.turnEnd) this.isOver = true;
    else if (event.kind === ENGINE_EVENTS.cancel) this.isCanceled = true;
    else {
      if (event.kind === ENGINE_EVENTS.held) this.#takeBack(event["start"] as Metadata | undefined);
      this.journal.push(event);
    }
    if (event.kind === ENGINE_EVENTS.attempt) {
      this.attempts = Number(event["attempt"]);
      this.crashes = Number(event["crashes"] ?? 0);
      this.lost = (event["lost"] ?? []) as readonly string[];
      return;
    }
    this.isUntouched = false;
    if (isProgress(event)) this.#forgetCrashes();
  }

  /** Removes the event that announced what has not begun. */
  #takeBack(start: Metadata | undefined): void {
    if (start === undefined) return;
    const fields = Object.entries(start);
    const place = this.journal.findLastIndex((event) =>
      fields.every(([name, value]) => event[name] === value),
    );
    if (place !== -1) this.journal.splice(place, 1);
  }

  #addWork(event: InternalEvent): void {
    const isIdle = event.kind === "internal:idle";
    if (isSleep(event) || event.kind === "internal:ask") {
      this.isAlongside = event["alongside"] === true;
    } else if (isIdle) {
      // It may have been said while the end of a wait was being stored.
      const { sleeps, isAsking } = event;
      this.isAlongside = sleeps !== this.#sleeps.length || isAsking !== this.isAsking;
    } else if (FUNCTION_WORK.has(event.kind)) this.isAlongside = true;
    this.isAsleep = !this.isAlongside && (isSleep(event) || isIdle);
  }

  /** The sleeps that are not over. */
  get #sleeps(): readonly SleepEvent[] {
    let sleeps: readonly SleepEvent[] = [];
    for (const event of this.journal) {
      if (isSleep(event)) sleeps = [...sleeps, event];
      if (event.kind === ENGINE_EVENTS.woken)
        sleeps = sleeps.filter((one) => !isWokenBy(one, event));
    }
    return sleeps;
  }

  #addSender(event: InternalEvent): void {
    const { extensions, caller = {}, trace = {} } = event as SenderFields;
    this.extensions = extensions === undefined ? NO_EXTENSIONS : new Set(extensions);
    this.caller = caller;
    this.#traceRest = trace;
  }

  #begin(message: Message | undefined, taskNow: () => Task): void {
    if (message === undefined) return;
    this.turn++;
    this.message = message;
    this.task = taskNow();
    this.extensions = NO_EXTENSIONS;
    this.caller = {};
    this.attempts = 1;
    this.#forgetCrashes();
    this.#traceIds = undefined;
    this.#traceRest = {};
    this.journal = [];
    this.inbox = [];
    this.statuses = [];
    this.closed = new Set();
    this.replaced = new Map();
    this.#whole = new Map();
    this.isOver = false;
    this.isCanceled = false;
    this.isUntouched = true;
  }
}

/** What a function writes, or is resumed by: more may follow from it, whatever else the turn waits for. */
const FUNCTION_WORK: ReadonlySet<string> = new Set([
  "internal:step-start",
  "internal:step-end",
  ENGINE_EVENTS.woken,
]);

/** What an attempt writes again without having come any further than the one before. */
const REPEATED: ReadonlySet<string> = new Set([
  ENGINE_EVENTS.attempt,
  ENGINE_EVENTS.held,
  "internal:step-start",
  "internal:llm-call",
  "internal:llm-retry",
  "internal:thought",
  "internal:trimmed",
  "internal:tool-start",
  "internal:tool-output",
  "internal:tool-note",
  "internal:tool-progress",
  "internal:sub-agent-call",
]);

/** Whether the event shows that its attempt has finished something. */
export function isProgress({ kind }: Pick<AgentEvent, "kind">): boolean {
  return kind.startsWith("internal:") && !REPEATED.has(kind);
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
    const page = readEntries(await backend.read(taskId, after, PAGE));
    let applied = 0;
    let index = 0;
    // One function for all entries of the page, because few of them need it.
    const taskNow = (): Task => {
      snapshot = applyEntries(snapshot, page.slice(applied, index + 1));
      applied = index + 1;
      return snapshot.task;
    };
    for (; index < page.length; index += 1) log.add(page[index]!, taskNow);
    if (applied < page.length || snapshot === undefined) {
      snapshot = applyEntries(snapshot, applied === 0 ? page : page.slice(applied));
    }
    if (page.length < PAGE) return { log, snapshot };
    after = page.at(-1)?.seq ?? after;
  }
}

const ACTIVATED = "internal:activated";

/** How a message was sent: what its turn needs to know again after a restart. */
export interface Sender {
  readonly caller: Caller;
  /** The extensions that the message activates. Default none. */
  readonly extensions?: ReadonlySet<string> | undefined;
  readonly trace?: TraceContext | undefined;
}

/**
 * Records how the first message of a task was sent. It is an event of its own, because the task
 * event is shown to clients as it is stored; events of later messages carry the fields themselves.
 */
export function senderNote(taskId: string, sender: Sender): readonly AgentEvent[] {
  const fields = senderFields(sender);
  return Object.keys(fields).length === 0 ? [] : [{ kind: ACTIVATED, taskId, ...fields }];
}

type SenderFields = Pick<MessageReceivedEvent, "extensions" | "caller" | "trace">;

/** The same as fields of an event. */
export function senderFields(sender: Sender): SenderFields {
  const { extensions = NO_EXTENSIONS } = sender;
  const { owner: _, ...caller } = sender.caller;
  const { flags, state } = sender.trace ?? {};
  const trace = { ...(flags !== undefined && { flags }), ...(state !== undefined && { state }) };
  return {
    ...(extensions.size > 0 && { extensions: [...extensions] }),
    ...(Object.keys(caller).length > 0 && { caller }),
    ...(Object.keys(trace).length > 0 && { trace }),
  };
}

/** The trace of the message that created a task: in the task event, and in the note about its sender. */
export async function readTaskTrace(
  backend: Backend,
  taskId: string,
): Promise<TraceContext | undefined> {
  const [created, sender] = (await backend.read(taskId, 0, 2)).map(readEntry);
  const ids = traceIn((created?.event as Task | undefined)?.metadata);
  const isNote = sender?.event.kind === ACTIVATED;
  return ids && { ...ids, ...(isNote && (sender.event as SenderFields).trace) };
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
