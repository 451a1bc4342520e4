import {
  type A2APart,
  type AgentEvent,
  type ArtifactUpdateEvent,
  type Dialect,
  type DialectSnapshot,
  type DialectStream,
  type Message,
  type Metadata,
  type PublicEvent,
  type StatusUpdateEvent,
  type Task,
  type TaskState,
  agentMessage,
  invalidParams,
  isMessageReceived,
  isTerminal,
  textOfParts,
  textPart,
} from "@convoke/protocol";
import type { JsonObject } from "@convoke/protocol/internal";
import type { CoderEvent, CoderUsage } from "../events/coder-event.ts";
import { LogFold, isTurnAnswer } from "../events/log-fold.ts";

/** What an encoder knows about the task in addition to the event. */
export interface EventScope {
  readonly taskId: string;
  readonly contextId: string;
  readonly state: TaskState;
  readonly timestamp: string | undefined;
  readonly model: string | undefined;
  readonly usage: CoderUsage;
  /** An id for a message, the same for every reader of the log. */
  readonly messageId: string;
}

/** The events that dialects write differently. Artifacts are the same in all of them. */
export type DialectEvent = Exclude<CoderEvent, { kind: "artifact" }>;

/** Writes an event in a dialect. An empty list leaves it out. */
type EncodeEvent = (event: DialectEvent, scope: EventScope) => readonly PublicEvent[];

/** One format of a coding agent's events. */
export interface CoderDialect extends Pick<Dialect, "uri" | "isUsedBy"> {
  readonly description: string;
  readonly encode: EncodeEvent;
  /**
   * Reads the reply to a confirmation from the data of a part. Returns undefined if the data is not
   * a reply in this dialect; throws if it is a malformed one.
   */
  readonly readReply: (data: JsonObject, field: string) => CallReply | undefined;
}

/** The reply to a confirmation, in the words of no particular dialect. */
export interface CallReply {
  readonly callId: string;
  /** The decision; also the answer to a question with options. */
  readonly option: string;
  /** The paths of both in the message, for errors. */
  readonly fields: { readonly callId: string; readonly option: string };
  /** The content that the caller wants the file to have. */
  readonly newContent?: string | undefined;
  /** The answer to a question. */
  readonly answer?: string | undefined;
  readonly feedback?: string | undefined;
}

/** The field of a reply as a text, if it is there. */
export function textField(data: JsonObject, name: string, field: string): string | undefined {
  const value = data[name];
  if (value === undefined || typeof value === "string") return value;
  throw invalidParams(`${field}.${name}`, "must be a string");
}

/** Makes the dialect of an agent: both views read the log, and differ from others by the encoder only. */
export function toDialect({ uri, isUsedBy, encode }: CoderDialect): Dialect {
  return {
    uri,
    ...(isUsedBy && { isUsedBy }),
    stream: () => new EncodedStream(encode),
    snapshot: () => new EncodedSnapshot(encode),
  };
}

/** What most events become: a status update with a message, or without one. */
export function statusUpdate(
  scope: EventScope,
  content: {
    readonly parts?: readonly A2APart[];
    readonly messageId?: string;
    readonly final?: boolean;
    readonly metadata: Metadata;
  },
): StatusUpdateEvent {
  const { taskId, contextId, state, timestamp } = scope;
  const { parts, messageId = scope.messageId, final = false, metadata } = content;
  const message = parts && { ...agentMessage(messageId, parts), taskId, contextId };
  return {
    kind: "status-update",
    taskId,
    contextId,
    status: { state, ...(message && { message }), ...(timestamp !== undefined && { timestamp }) },
    final,
    metadata,
  };
}

/** More output of a running call, as an artifact of its own. */
export function outputUpdate(
  { taskId, contextId }: EventScope,
  { call, text, isFirst }: Extract<CoderEvent, { kind: "output" }>,
): ArtifactUpdateEvent {
  const artifact = { artifactId: `tool-${call.callId}-output`, parts: [textPart(text)] };
  const kind = "artifact-update";
  return { kind, taskId, contextId, artifact, append: !isFirst, lastChunk: false };
}

/** The log as events of a coding agent, with the scope of each. */
class ScopedFold {
  readonly #fold = new LogFold();
  #taskId = "";
  #contextId = "";

  *next(event: AgentEvent, seq: number): Generator<readonly [CoderEvent, EventScope]> {
    const { state: before } = this.#fold;
    const events = this.#fold.next(event);
    const { timestamp, model, usage } = this.#fold;
    this.#identify(event);
    const taskId = this.#taskId;
    const contextId = this.#contextId;
    const shared = { taskId, contextId, timestamp, model, usage };
    for (const [place, one] of events.entries()) {
      // What an event brings in addition to the new state comes before it.
      const state = one.kind === "state" ? one.state : before;
      yield [one, { ...shared, state, messageId: `${taskId}-${seq}-${place + 1}` }];
    }
  }

  /** A compacted log does not begin with the task, so the ids are read from every event. */
  #identify(event: AgentEvent): void {
    const { id, taskId = id, contextId } = event as Partial<Task & StatusUpdateEvent>;
    this.#taskId = taskId ?? this.#taskId;
    this.#contextId = contextId ?? this.#contextId;
  }
}

class EncodedStream implements DialectStream {
  readonly #fold = new ScopedFold();
  readonly #encode: EncodeEvent;

  constructor(encode: EncodeEvent) {
    this.#encode = encode;
  }

  next(event: AgentEvent, seq: number): readonly PublicEvent[] {
    return [...this.#fold.next(event, seq)].flatMap(([one, scope]) =>
      one.kind === "artifact" ? [one.event] : this.#encode(one, scope),
    );
  }
}

/** A message of the history, or the event that it is made of. */
type Kept = Message | readonly [DialectEvent, EventScope];

/**
 * A task whose history has everything that its streams showed: texts as a whole, and each tool call
 * once, as it was last.
 */
class EncodedSnapshot implements DialectSnapshot {
  readonly #fold = new ScopedFold();
  readonly #encode: EncodeEvent;
  readonly #kept = new Map<string, Kept>();
  readonly #outputs = new Map<string, string>();

  constructor(encode: EncodeEvent) {
    this.#encode = encode;
  }

  add(event: AgentEvent, seq: number): void {
    if (isMessageReceived(event)) this.#kept.set(`message ${seq}`, event.message);
    for (const [one, scope] of this.#fold.next(event, seq)) this.#keep(one, scope);
  }

  #keep(event: CoderEvent, scope: EventScope): void {
    switch (event.kind) {
      case "task":
        for (const message of event.task.history ?? []) {
          this.#kept.set(`message ${message.messageId}`, message);
        }
        return;
      case "artifact":
        // The task has its artifacts.
        return;
      case "state":
        if (event.message !== undefined) this.#kept.set(scope.messageId, event.message);
        return;
      case "text": {
        const key = `text ${event.textId}`;
        const text = textSoFar(this.#kept.get(key)) + event.text;
        this.#kept.set(key, [{ ...event, text }, scope]);
        return;
      }
      case "tool-call":
      case "confirmation":
        this.#kept.set(`call ${event.call.callId}`, [event, scope]);
        return;
      case "decision":
        return this.#keep({ ...event, kind: "tool-call" }, scope);
      case "output":
        for (const shown of this.#encode(event, scope)) this.#addOutput(shown);
        return;
      default:
        this.#kept.set(scope.messageId, [event, scope]);
    }
  }

  #addOutput(shown: PublicEvent): void {
    if (shown.kind !== "artifact-update") return;
    const { artifactId, parts } = shown.artifact;
    this.#outputs.set(artifactId, (this.#outputs.get(artifactId) ?? "") + textOfParts(parts));
  }

  /** The text of the answer is the last message of a task that has ended without one. */
  task(task: Task): Task {
    const { status } = task;
    const isAnswered = isTerminal(status.state) && status.message === undefined;
    const history = [...this.#kept].map(([key, kept]) => [key, this.#messageOf(kept)] as const);
    const lastText =
      isAnswered || isTurnAnswer(status.message)
        ? history.findLast(([key]) => key.startsWith("text "))
        : undefined;
    const message = lastText?.[1] ?? status.message;
    const outputs = [...this.#outputs].map(([artifactId, text]) => ({
      artifactId,
      parts: [textPart(text)],
    }));
    const artifacts = [...(task.artifacts ?? []), ...outputs];
    return {
      ...task,
      status: { ...status, ...(message && { message }) },
      history: history.flatMap(([, one]) =>
        one === undefined || one.messageId === message?.messageId ? [] : [one],
      ),
      ...(artifacts.length > 0 && { artifacts }),
    };
  }

  #messageOf(kept: Kept): Message | undefined {
    if ("kind" in kept) return kept;
    const [event, scope] = kept;
    const shown = this.#encode(event, scope).find((one) => one.kind === "status-update");
    return shown?.status.message;
  }
}

function textSoFar(kept: Kept | undefined): string {
  if (kept === undefined || "kind" in kept) return "";
  const [event] = kept;
  return event.kind === "text" ? event.text : "";
}
