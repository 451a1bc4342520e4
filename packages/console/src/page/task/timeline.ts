import type { ArtifactUpdateEvent, Message, StatusUpdateEvent } from "@convoke/protocol";
import { textOfParts } from "@convoke/protocol";
import type { LoggedEvent } from "../server/event-log.ts";
import {
  type Fields,
  type LogEntry,
  fieldsOf,
  isGap,
  kindName,
  numberField,
  textField,
  timeOf,
} from "./notes.ts";

export const ROW_KINDS = [
  "message",
  "model",
  "tool",
  "sub-agent",
  "step",
  "wait",
  "output",
  "status",
  "attempt",
  "note",
  "gap",
] as const;

export type RowKind = (typeof ROW_KINDS)[number];

/** A row of the timeline: one event, or all events of one activity. */
export interface TimelineRow {
  readonly kind: RowKind;
  name: string;
  /** What happened, in a few words. */
  detail: string;
  /** The positions of its first and last event so far. */
  readonly from: number;
  to: number;
  start: number | undefined;
  end: number | undefined;
  /** Whether its end is in the log. */
  isDone: boolean;
  isFailed: boolean;
  /** How many chunks of output it has. */
  chunks: number;
}

/** Derives the rows of the timeline. The events are the truth; rows can be made again at any time. */
export function buildTimeline(entries: Iterable<LogEntry>): readonly TimelineRow[] {
  const builder = new TimelineBuilder();
  for (const entry of entries) builder.take(entry);
  return builder.rows;
}

class TimelineBuilder {
  readonly rows: TimelineRow[] = [];
  /** Activities whose end has not come yet, by what identifies it. */
  readonly #open = new Map<string, TimelineRow>();
  #time: number | undefined;

  take(entry: LogEntry): void {
    if (isGap(entry)) {
      const { from, to } = entry;
      const row = this.#row("gap", { from, seq: to, event: { kind: "message" } as Message });
      row.name = "Not loaded";
      row.to = to;
      return;
    }
    this.#time = timeOf(entry) ?? this.#time;
    const { event } = entry;
    switch (event.kind) {
      case "artifact-update":
        this.#chunk(entry, event as ArtifactUpdateEvent);
        break;
      case "status-update":
        this.#status(entry, event as StatusUpdateEvent);
        break;
      case "task":
        this.#single("message", entry, "Task created", "");
        break;
      case "message":
        this.#single("message", entry, "Answer", textOfParts((event as Message).parts));
        break;
      default:
        this.#note(entry, fieldsOf(event));
    }
  }

  #row(kind: RowKind, { from, seq }: LoggedEvent): TimelineRow {
    const row: TimelineRow = {
      kind,
      name: kind,
      detail: "",
      from,
      to: seq,
      start: this.#time,
      end: this.#time,
      isDone: true,
      isFailed: false,
      chunks: 0,
    };
    this.rows.push(row);
    return row;
  }

  #single(kind: RowKind, entry: LoggedEvent, name: string, detail: string): TimelineRow {
    return Object.assign(this.#row(kind, entry), { name, detail });
  }

  #begin(key: string, kind: RowKind, entry: LoggedEvent, name: string): TimelineRow {
    const row = this.#single(kind, entry, name, "");
    row.isDone = false;
    row.end = undefined;
    this.#open.set(key, row);
    return row;
  }

  /** Adds an event to an activity. */
  #extend(key: string, entry: LoggedEvent): TimelineRow | undefined {
    const row = this.#open.get(key);
    if (row !== undefined) row.to = entry.seq;
    return row;
  }

  #end(key: string, entry: LoggedEvent): TimelineRow | undefined {
    const row = this.#extend(key, entry);
    if (row === undefined) return undefined;
    this.#open.delete(key);
    row.end = this.#time;
    row.isDone = true;
    return row;
  }

  #chunk(entry: LoggedEvent, { artifact }: ArtifactUpdateEvent): void {
    const count = entry.seq - entry.from + 1;
    const model = this.#extend("model", entry);
    const last = this.rows.at(-1);
    const row =
      model ??
      (last?.kind === "output" && last.name === (artifact.name ?? artifact.artifactId)
        ? last
        : this.#single("output", entry, artifact.name ?? artifact.artifactId, ""));
    row.chunks += count;
    row.to = entry.seq;
    if (model === undefined) {
      row.end = this.#time;
      row.detail = row.chunks === 1 ? "1 chunk" : `${row.chunks} chunks`;
    }
  }

  #status(entry: LoggedEvent, { status }: StatusUpdateEvent): void {
    const { state, message } = status;
    const detail = message === undefined ? "" : textOfParts(message.parts);
    const row = this.#single("status", entry, state, detail);
    row.isFailed = state === "failed" || state === "rejected";
  }

  #note(entry: LoggedEvent, fields: Fields): void {
    const { kind } = entry.event;
    switch (kind) {
      case "internal:llm-call":
        this.#begin("model", "model", entry, textField(fields, "model") ?? "Model call");
        break;
      case "internal:llm-result":
        this.#modelEnd(entry, fields);
        break;
      case "internal:llm-retry": {
        const row = this.#end("model", entry) ?? this.#single("model", entry, "Model call", "");
        row.isFailed = true;
        row.detail = textField(fields, "problem") ?? "failed";
        break;
      }
      case "internal:thought":
        if (this.#extend("model", entry) === undefined) this.#plain(entry);
        break;
      case "internal:step-start":
        this.#begin(stepKey(fields), "step", entry, textField(fields, "name") ?? "step");
        break;
      case "internal:step-end": {
        const row = this.#end(stepKey(fields), entry);
        const problem = textField(fieldsOf(fields["error"]), "message");
        if (row) Object.assign(row, { isFailed: problem !== undefined, detail: problem ?? "" });
        break;
      }
      default:
        this.#wait(entry, kind);
    }
  }

  #modelEnd(entry: LoggedEvent, fields: Fields): void {
    const row = this.#end("model", entry) ?? this.#single("model", entry, "Model call", "");
    const usage = fieldsOf(fields["usage"]);
    const [input, output] = ["inputTokens", "outputTokens"].map((name) => numberField(usage, name));
    row.detail = input === undefined ? "" : `${input} → ${output ?? 0} tokens`;
  }

  #wait(entry: LoggedEvent, kind: string): void {
    switch (kind) {
      case "internal:ask":
        this.#begin("wait", "wait", entry, "Waits for an answer");
        break;
      case "internal:sleep":
        this.#begin("wait", "wait", entry, "Sleeps");
        break;
      case "internal:message":
        this.#end("wait", entry);
        this.#single("message", entry, "Message", messageText(entry));
        break;
      case "internal:expired":
      case "internal:recalled":
      case "internal:woken": {
        const row = this.#end("wait", entry);
        if (row) row.detail = kindName(entry.event);
        break;
      }
      case "internal:attempt":
        this.#attempt(entry);
        break;
      default:
        if (!this.#tool(entry, fieldsOf(entry.event))) this.#plain(entry);
    }
  }

  /** What ran when the process ended has no end of its own. */
  #attempt(entry: LoggedEvent): void {
    const attempt = numberField(fieldsOf(entry.event), "attempt") ?? 1;
    for (const [key, row] of this.#open) {
      if (key === "wait") continue;
      row.detail ||= "the process ended before it did";
      row.isFailed = true;
      row.end ??= this.#time;
      if (key === "model") this.#open.delete(key);
    }
    this.#single("attempt", entry, `Attempt ${attempt}`, "The process ended before this.");
  }

  /** Returns whether the note is about a tool call. */
  #tool(entry: LoggedEvent, fields: Fields): boolean {
    const toolCallId = textField(fields, "toolCallId");
    if (toolCallId === undefined) return false;
    const key = `tool ${toolCallId}`;
    switch (entry.event.kind) {
      case "internal:tool-start": {
        // A later round of the same call, after a question or a crash.
        const again = this.#extend(key, entry);
        const row =
          again ?? this.#begin(key, "tool", entry, textField(fields, "toolName") ?? "tool");
        row.isFailed = false;
        break;
      }
      case "internal:tool-complete": {
        const row = this.#end(key, entry);
        if (row) row.isFailed = fields["success"] === false && fields["isDeclined"] !== true;
        if (row && fields["isDeclined"] === true) row.detail = "declined";
        this.#end(`child ${toolCallId}`, entry);
        break;
      }
      case "internal:sub-agent": {
        const name = textField(fields, "agent") ?? "sub-agent";
        const row = this.#begin(`child ${toolCallId}`, "sub-agent", entry, name);
        row.detail = textField(fields, "childTaskId") ?? "";
        break;
      }
      case "internal:approval-requested":
      case "internal:approval-decided":
        this.#extend(key, entry);
        this.#single("note", entry, kindName(entry.event).replace("-", " "), approvalText(fields));
        break;
      default:
        if (this.#extend(key, entry) === undefined) this.#plain(entry);
    }
    return true;
  }

  #plain(entry: LoggedEvent): void {
    this.#single("note", entry, kindName(entry.event).replaceAll("-", " "), "");
  }
}

function stepKey(fields: Fields): string {
  return `step ${textField(fields, "name") ?? ""} ${numberField(fields, "n") ?? 1}`;
}

function messageText({ event }: LoggedEvent): string {
  const { message } = event as { readonly message?: Message };
  return message === undefined ? "" : textOfParts(message.parts);
}

function approvalText(fields: Fields): string {
  const decidedBy = textField(fields, "decidedBy");
  const outcome = textField(fields, "outcome");
  if (outcome !== undefined)
    return decidedBy === undefined ? outcome : `${outcome} by ${decidedBy}`;
  return textField(fieldsOf(fields["approval"]), "title") ?? "";
}
