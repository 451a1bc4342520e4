import {
  type A2APart,
  type ArtifactUpdateEvent,
  type Message,
  type PublicEvent,
  type StatusUpdateEvent,
  type TaskState,
  isPlainText,
  isPublic,
  isTerminal,
  textOfParts,
} from "@convoke/protocol";
import type { LoggedEvent } from "../server/event-log.ts";
import {
  type Fields,
  type LogEntry,
  fieldsOf,
  isGap,
  listField,
  numberField,
  textField,
  timeOf,
} from "./notes.ts";

interface ItemBase {
  /** The position of the event it begins with. */
  readonly seq: number;
  readonly at?: number | undefined;
}

export interface ToolItem extends ItemBase {
  readonly kind: "tool";
  readonly name: string;
  readonly toolCallId: string;
  input?: unknown;
  output?: unknown;
  outcome: "running" | "done" | "failed" | "declined";
  progress?: string;
  /** What a person was asked to approve. */
  approval?: Fields;
  /** What was decided, and by whom. */
  decision?: Fields;
  child?: { readonly agent: string; readonly taskId: string };
  endedAt?: number | undefined;
}

export interface SaidItem extends ItemBase {
  readonly kind: "said";
  readonly artifactId: string;
  readonly name?: string | undefined;
  texts: string[];
  parts: A2APart[];
}

export interface QuestionItem extends ItemBase {
  readonly kind: "question";
  readonly requests: readonly Fields[];
  /** What the message of the question says. */
  text?: string;
  /** How it ended, in a few words. Absent while it is open. */
  answer?: string;
  answeredAt?: number | undefined;
}

export interface StepItem extends ItemBase {
  readonly kind: "step";
  readonly name: string;
  isDone: boolean;
  result?: unknown;
  problem?: string | undefined;
  endedAt?: number | undefined;
}

/** A part of what happened, as a person would tell it. */
export type StoryItem =
  | (ItemBase & { readonly kind: "message"; readonly message: Message })
  | SaidItem
  | (ItemBase & { readonly kind: "thought"; readonly text: string })
  | ToolItem
  | QuestionItem
  | StepItem
  | (ItemBase & { readonly kind: "progress"; readonly state: TaskState; readonly text: string })
  | (ItemBase & { readonly kind: "attempt"; readonly attempt: number; readonly crashes: number })
  | (ItemBase & { readonly kind: "line"; readonly text: string; readonly isBad: boolean })
  | (ItemBase & { readonly kind: "end"; readonly state: TaskState; readonly message?: Message })
  | (ItemBase & { readonly kind: "gap"; readonly to: number });

/** Tells what happened in a log. */
export function tellStory(entries: Iterable<LogEntry>): readonly StoryItem[] {
  const teller = new Teller();
  for (const entry of entries) teller.take(entry);
  return teller.items;
}

class Teller {
  readonly items: StoryItem[] = [];
  readonly #tools = new Map<string, ToolItem>();
  readonly #steps = new Map<string, StepItem>();
  /** Text that is still being written: the next chunk belongs to it. */
  #said: SaidItem | undefined;
  #question: QuestionItem | undefined;

  take(entry: LogEntry): void {
    if (isGap(entry)) {
      this.#add({ kind: "gap", seq: entry.from, to: entry.to });
      return;
    }
    const base = { seq: entry.seq, at: timeOf(entry) };
    const { event } = entry;
    if (isPublic(event)) this.#public(base, event, entry);
    else this.#note(base, fieldsOf(event), event.kind);
  }

  #add(item: StoryItem): void {
    this.#said = undefined;
    this.items.push(item);
  }

  #public(base: ItemBase, event: PublicEvent, entry: LoggedEvent): void {
    switch (event.kind) {
      case "task":
        for (const message of event.history ?? []) {
          this.#add({ kind: "message", ...base, message });
        }
        break;
      case "message":
        this.#add({ kind: "message", ...base, message: event });
        break;
      case "artifact-update":
        this.#artifact({ ...base, seq: entry.from }, event);
        break;
      case "status-update":
        this.#status(base, event);
        break;
      default:
        event satisfies never;
    }
  }

  #artifact(base: ItemBase, { artifact, append }: ArtifactUpdateEvent): void {
    const { artifactId, name, parts } = artifact;
    let said = this.#said;
    const isEmpty = parts.every((part) => isPlainText(part) && part.text === "");
    if (isEmpty) return;
    if (said === undefined || said.artifactId !== artifactId || append !== true) {
      said = { kind: "said", ...base, artifactId, name, texts: [], parts: [] };
      this.#add(said);
      this.#said = said;
    }
    for (const part of parts) {
      if (isPlainText(part)) said.texts.push(part.text);
      else said.parts.push(part);
    }
  }

  #status(base: ItemBase, { status }: StatusUpdateEvent): void {
    const { state, message } = status;
    if (isTerminal(state)) {
      this.#add({ kind: "end", ...base, state, ...(message && { message }) });
      return;
    }
    const text = message === undefined ? "" : textOfParts(message.parts);
    if (this.#question !== undefined && this.#question.answer === undefined) {
      this.#question.text = text;
    } else if (text !== "") this.#add({ kind: "progress", ...base, state, text });
  }

  #note(base: ItemBase, fields: Fields, kind: string): void {
    switch (kind) {
      case "internal:message":
        this.#answered(base, "Answered");
        this.#add({ kind: "message", ...base, message: fields["message"] as Message });
        break;
      case "internal:thought":
        this.#add({ kind: "thought", ...base, text: textField(fields, "text") ?? "" });
        break;
      case "internal:ask":
        this.#question = { kind: "question", ...base, requests: listField(fields, "requests") };
        this.#add(this.#question);
        break;
      case "internal:expired":
        this.#answered(base, "No answer came in time");
        break;
      case "internal:recalled":
        this.#answered(base, "Settled elsewhere");
        break;
      case "internal:step-start":
      case "internal:step-end":
        this.#step(base, fields, kind);
        break;
      default:
        if (!this.#tool(base, fields, kind)) this.#line(base, fields, kind);
    }
  }

  #answered({ at }: ItemBase, answer: string): void {
    if (this.#question === undefined || this.#question.answer !== undefined) return;
    this.#question.answer = answer;
    this.#question.answeredAt = at;
  }

  #step(base: ItemBase, fields: Fields, kind: string): void {
    const name = textField(fields, "name") ?? "step";
    const key = `${name} ${numberField(fields, "n") ?? 1}`;
    let step = this.#steps.get(key);
    if (step === undefined || kind === "internal:step-start") {
      step = { kind: "step", ...base, name, isDone: false };
      this.#steps.set(key, step);
      this.#add(step);
    }
    if (kind === "internal:step-start") return;
    step.isDone = true;
    step.result = fields["result"];
    step.problem = textField(fieldsOf(fields["error"]), "message");
    step.endedAt = base.at;
  }

  /** Returns whether the note is about a tool call. */
  #tool(base: ItemBase, fields: Fields, kind: string): boolean {
    const toolCallId = textField(fields, "toolCallId");
    if (toolCallId === undefined) return false;
    const item = this.#toolItem(base, fields, toolCallId);
    switch (kind) {
      case "internal:tool-start":
        item.input = fields["input"];
        break;
      case "internal:tool-progress":
        item.progress = textField(fields, "text") ?? "";
        break;
      case "internal:tool-complete":
        item.output = fields["output"];
        item.outcome = outcomeOf(fields);
        item.endedAt = base.at;
        break;
      case "internal:approval-requested":
        item.approval = fieldsOf(fields["approval"]);
        break;
      case "internal:approval-decided":
        item.decision = fields;
        break;
      case "internal:sub-agent":
        item.child = {
          agent: textField(fields, "agent") ?? "",
          taskId: textField(fields, "childTaskId") ?? "",
        };
        break;
    }
    return true;
  }

  #toolItem(base: ItemBase, fields: Fields, toolCallId: string): ToolItem {
    const known = this.#tools.get(toolCallId);
    if (known !== undefined) return known;
    const approved = fieldsOf(fieldsOf(fields["approval"])["tool"]);
    const name =
      textField(fields, "toolName") ?? textField(approved, "name") ?? textField(fields, "agent");
    const item: ToolItem = {
      kind: "tool",
      ...base,
      toolCallId,
      name: name ?? "tool",
      input: approved["arguments"],
      outcome: "running",
    };
    this.#tools.set(toolCallId, item);
    this.#add(item);
    return item;
  }

  #line(base: ItemBase, fields: Fields, kind: string): void {
    if (kind === "internal:attempt") {
      const attempt = numberField(fields, "attempt") ?? 1;
      const crashes = numberField(fields, "crashes") ?? 0;
      this.#add({ kind: "attempt", ...base, attempt, crashes });
      return;
    }
    const told = LINES[kind]?.(fields);
    if (told !== undefined) this.#add({ kind: "line", ...base, isBad: false, ...told });
  }
}

function outcomeOf(fields: Fields): ToolItem["outcome"] {
  if (fields["isDeclined"] === true) return "declined";
  return fields["success"] === false ? "failed" : "done";
}

/** What some notes say in one line. Other notes are for the timeline. */
const LINES: Readonly<
  Record<string, (fields: Fields) => { readonly text: string; readonly isBad?: boolean }>
> = {
  "internal:llm-retry": (fields) => ({
    text: `The model did not answer: ${textField(fields, "problem") ?? "unknown problem"}.${
      fields["isGivenUp"] === true ? " It is not asked again." : ""
    }`,
    isBad: true,
  }),
  "internal:trimmed": (fields) => ({
    text: `The oldest ${numberField(fields, "entries") ?? 0} entries no longer fit into the model's context.`,
  }),
  "internal:cancel": () => ({ text: "The caller asked to cancel the task." }),
  "internal:sleep": (fields) => ({
    text: `Sleeps until ${textField(fields, "until") ?? "later"}.`,
  }),
  "internal:woken": () => ({ text: "Woke up." }),
  "internal:remote-task": (fields) => ({
    text: `Passed on to the remote task ${textField(fields, "remoteTaskId") ?? ""}.`,
  }),
};
