import { TASK_STATES, type TaskState, isTerminal } from "@convoke/protocol";
import { type JsonObject, isObject } from "@convoke/protocol/internal";
import type { OpenStream, StreamItem, WireHeaders } from "../wire/client.ts";
import { type Exchange, Failed, MAX_LATE_EVENTS, type Transcript } from "../wire/exchange.ts";
import { at, listAt, textAt } from "../wire/json.ts";

/** A task, as far as it can be read from any of the three dialects. Fields that are wrong are absent. */
export interface ObservedTask {
  readonly kind: "task";
  readonly taskId: string;
  readonly contextId: string;
  readonly state: TaskState | undefined;
  readonly history: readonly unknown[];
  readonly artifacts: readonly unknown[];
  readonly json: JsonObject;
}

interface ObservedMessage {
  readonly kind: "message";
  readonly contextId: string;
  readonly json: JsonObject;
}

interface ObservedStatus {
  readonly kind: "status";
  readonly taskId: string;
  readonly state: TaskState | undefined;
  /** The `final` flag of 0.3; 1.0 has none. */
  readonly final: unknown;
  readonly json: JsonObject;
}

interface ObservedArtifact {
  readonly kind: "artifact";
  readonly taskId: string;
  readonly artifactId: string;
  readonly append: boolean;
  readonly text: string;
  readonly json: JsonObject;
}

export type ObservedResult = ObservedTask | ObservedMessage;
export type ObservedEvent = ObservedResult | ObservedStatus | ObservedArtifact;

/** The result of a send, or `undefined` if it is neither a task nor a message. */
export function parseResult(json: unknown): ObservedResult | undefined {
  const event = parseEvent(json);
  return event?.kind === "task" || event?.kind === "message" ? event : undefined;
}

/** A stream event. JSON-RPC 0.3 marks it with `kind`, all other dialects with the name of its only member. */
export function parseEvent(json: unknown): ObservedEvent | undefined {
  if (!isObject(json)) return undefined;
  const kind = EVENT_KINDS[textAt(json, "kind")];
  if (kind !== undefined) return toEvent(kind, json);
  const members = Object.keys(json).filter((name) => Object.hasOwn(EVENT_KINDS, name));
  const [name = ""] = members;
  const inner = json[name];
  const found = EVENT_KINDS[name];
  if (members.length !== 1 || found === undefined || !isObject(inner)) return undefined;
  return toEvent(found, inner);
}

/** A task without an envelope, or `undefined` if it has no id. */
export function parseTask(json: unknown): ObservedTask | undefined {
  if (!isObject(json)) return undefined;
  const task = toTask(json);
  return task.taskId === "" ? undefined : task;
}

const EVENT_KINDS: Readonly<Record<string, ObservedEvent["kind"]>> = {
  task: "task",
  message: "message",
  msg: "message",
  "status-update": "status",
  statusUpdate: "status",
  "artifact-update": "artifact",
  artifactUpdate: "artifact",
};

function toEvent(kind: ObservedEvent["kind"], json: JsonObject): ObservedEvent {
  switch (kind) {
    case "task":
      return toTask(json);
    case "message":
      return { kind, contextId: textAt(json, "contextId"), json };
    case "status": {
      const state = parseState(at(json, "status", "state"));
      return { kind, taskId: textAt(json, "taskId"), state, final: json["final"], json };
    }
    case "artifact":
      return {
        kind,
        taskId: textAt(json, "taskId"),
        artifactId: textAt(json, "artifact", "artifactId"),
        append: json["append"] === true,
        text: textOfParts(at(json, "artifact")),
        json,
      };
    default:
      return kind satisfies never;
  }
}

function toTask(json: JsonObject): ObservedTask {
  return {
    kind: "task",
    taskId: textAt(json, "id"),
    contextId: textAt(json, "contextId"),
    state: parseState(at(json, "status", "state")),
    history: listAt(json, "history"),
    artifacts: listAt(json, "artifacts"),
    json,
  };
}

/** Accepts every spelling: `TASK_STATE_CANCELLED` is `canceled`. */
function parseState(written: unknown): TaskState | undefined {
  const word = String(written).replace("TASK_STATE_", "").toLowerCase().replaceAll("_", "-");
  const state = word === "cancelled" ? "canceled" : word;
  return TASK_STATES.find((known) => known === state);
}

/** The parts of a message or an artifact. In messages, REST and gRPC 0.3 call them `content`. */
export function partsIn(owner: unknown): readonly unknown[] {
  const parts = listAt(owner, "parts");
  return parts.length > 0 ? parts : listAt(owner, "content");
}

/** The text of a message or an artifact. */
export function textOfParts(owner: unknown): string {
  return partsIn(owner)
    .map((part) => textAt(part, "text"))
    .join("");
}

/** Whether the task is in a terminal state with this event. */
export function isTerminalEvent(event: ObservedEvent): boolean {
  const { state } = event.kind === "task" || event.kind === "status" ? event : {};
  return state !== undefined && isTerminal(state);
}

/** Reports show only the beginning of a stream. */
const MAX_SHOWN_EVENTS = 20;

/** What a stream sent, until it ended or enough had been read. */
export interface RecordedStream {
  readonly events: readonly ObservedEvent[];
  readonly items: readonly StreamItem[];
  readonly headers: WireHeaders;
  readonly exchange: Exchange;
  /** Whether the server ended the stream, rather than the reader. */
  readonly ended: boolean;
}

/**
 * Reads a stream to its end, or until `isEnough`. A task may have any number of events, but after a
 * terminal status the stream must end.
 */
export async function recordStream(
  { events: incoming, headers }: Pick<OpenStream, "events" | "headers">,
  transcript: Transcript,
  isEnough: (event: ObservedEvent) => boolean = () => false,
): Promise<RecordedStream> {
  const items: StreamItem[] = [];
  const events: ObservedEvent[] = [];
  const { sent } = transcript.last;
  const recordExchange = (): Exchange => {
    const shown = items.slice(0, MAX_SHOWN_EVENTS);
    const bodies = shown.map(({ envelope }) => JSON.stringify(envelope)).join(" ");
    transcript.recordSent(sent);
    return transcript.recordReceived(`a stream of ${items.length} events: ${bodies}`);
  };
  let late = 0;
  for await (const item of incoming) {
    items.push(item);
    if (item.error !== undefined) continue;
    const event = parseEvent(item.json);
    if (event === undefined) {
      throw new Failed(
        "events that are a task, a message, a status update or an artifact update",
        recordExchange(),
      );
    }
    events.push(event);
    if (isEnough(event)) {
      return { events, items, headers, exchange: recordExchange(), ended: false };
    }
    if (late > 0 || isTerminalEvent(event)) late += 1;
    if (late > MAX_LATE_EVENTS) {
      throw new Failed(
        `a stream that ends; this one was still open ${MAX_LATE_EVENTS} events after the task had ended`,
        recordExchange(),
      );
    }
  }
  return { events, items, headers, exchange: recordExchange(), ended: true };
}
