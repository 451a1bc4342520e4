import { DETAILS_NOTE, PLAN_NOTE, editDetails } from "@convoke/coder/internal";
import {
  type AgentEvent,
  type ArtifactUpdateEvent,
  CODER_DIALECTS,
  EXTENSIONS,
  type Message,
  type Metadata,
  type TaskState,
  type Turn,
  agentMessage,
  isFinal,
  textPart,
} from "@convoke/protocol";
import type { ProgramEvent, ProgramToolCall } from "../program/program-event.ts";

/** What a program says without expecting an answer. */
type Said = Exclude<ProgramEvent, { readonly kind: "permission" | "question" | "end" }>;

const STRUCTURED: readonly string[] = [EXTENSIONS.coder.uri, ...Object.values(CODER_DIALECTS)];

/**
 * The events of a task for what a program says. They are those of an agent with a model and tools,
 * so that everything that shows such agents also shows programs.
 */
export class TurnEvents {
  readonly #turn: Turn;
  readonly #answerId: string;
  /** Callers that see no tool calls and plans get them as text. */
  readonly #isPlain: boolean;
  readonly #calls = new Map<string, ProgramToolCall>();
  #isAnswered = false;
  #isNewText = false;
  #thought = "";
  #messages = 0;

  /** @param isContinued whether the program continues from where an earlier attempt stopped */
  constructor(turn: Turn, isContinued: boolean) {
    this.#turn = turn;
    // Then what the earlier attempt said stays; otherwise it is said again.
    const attempt = isContinued ? turn.attempt : 1;
    this.#answerId = `answer-${(turn.task.artifacts?.length ?? 0) + attempt}`;
    this.#isPlain = !STRUCTURED.some((uri) => turn.extensions.has(uri));
  }

  /** The program starts over: its next text replaces the answer so far. */
  beginAgain(): void {
    this.#isAnswered = false;
    this.#thought = "";
  }

  next(said: Said): readonly AgentEvent[] {
    if (said.kind === "thought") {
      this.#thought += said.text;
      return [];
    }
    return [...this.flush(), ...this.#events(said)];
  }

  /** The thought so far: it is over when something else follows. */
  flush(): readonly AgentEvent[] {
    const text = this.#thought;
    this.#thought = "";
    return text.trim() === "" ? [] : [this.note("internal:thought", { iteration: 1, text })];
  }

  /** The call begins to wait for a decision. */
  asked(call: ProgramToolCall): readonly AgentEvent[] {
    return [...this.flush(), ...(this.#calls.has(call.callId) ? [] : this.#started(call, 1))];
  }

  /** The decision on a call: it runs, or it is over. */
  decided(call: ProgramToolCall, isApproved: boolean): readonly AgentEvent[] {
    if (isApproved) return this.#started({ ...call, status: "running" }, 2);
    this.#calls.set(call.callId, { ...call, status: "failed" });
    return [this.#completed(call, { success: false, isDeclined: true })];
  }

  status(state: TaskState, message?: Message, metadata?: Metadata): AgentEvent {
    const status = { state, ...(message && { message }) };
    const final = isFinal(state);
    return { kind: "status-update", ...this.#ids, status, final, ...(metadata && { metadata }) };
  }

  message(text: string): Message {
    return agentMessage(this.messageId(), text);
  }

  /** Unique in all attempts of the turn. */
  messageId(): string {
    const { task, attempt } = this.#turn;
    return `${task.id}-${task.history?.length ?? 0}-${attempt}-${(this.#messages += 1)}`;
  }

  note(kind: `internal:${string}`, fields: Metadata): AgentEvent {
    const timestamp = this.#turn.now().toISOString();
    return { kind, taskId: this.#turn.task.id, ...fields, timestamp } as AgentEvent;
  }

  /** The end of the answer, if there is one: a streamed artifact ends with `lastChunk` (0.3 §7.2). */
  close(): readonly AgentEvent[] {
    return [...this.flush(), ...(this.#isAnswered ? [this.#answer("", true)] : [])];
  }

  #events(said: Exclude<Said, { kind: "thought" }>): readonly AgentEvent[] {
    switch (said.kind) {
      case "text":
        return said.text === "" ? [] : [this.#answer(said.text)];
      case "status":
        return [this.status("working", this.message(said.text))];
      case "artifact": {
        const { name, parts, description } = said;
        const artifact = { artifactId: name, name, ...(description && { description }), parts };
        return [
          { kind: "artifact-update", ...this.#ids, artifact, append: false, lastChunk: true },
        ];
      }
      case "tool":
        return this.#tool(said.call);
      case "plan":
        return this.#plan(said.entries);
      default:
        return said satisfies never;
    }
  }

  #answer(text: string, lastChunk?: true): ArtifactUpdateEvent {
    const between = this.#isNewText && this.#isAnswered && text !== "" ? "\n\n" : "";
    const artifact = { artifactId: this.#answerId, parts: [textPart(between + text)] };
    const append = this.#isAnswered;
    this.#isAnswered = true;
    this.#isNewText = false;
    const end = lastChunk && { lastChunk };
    return { kind: "artifact-update", ...this.#ids, artifact, append, ...end };
  }

  #tool(call: ProgramToolCall): readonly AgentEvent[] {
    const before = this.#calls.get(call.callId);
    if (before?.status === "succeeded" || before?.status === "failed") return [];
    // What is said after a call is another paragraph.
    this.#isNewText = true;
    const started = before === undefined ? this.#started(call, 1) : this.#changed(before, call);
    this.#calls.set(call.callId, call);
    if (call.status !== "succeeded" && call.status !== "failed") return started;
    return [...started, this.#completed(call, { success: call.status === "succeeded" })];
  }

  #started(call: ProgramToolCall, round: number): readonly AgentEvent[] {
    this.#calls.set(call.callId, call);
    const { callId: toolCallId, name: toolName, title, input } = call;
    const facts = { toolName, toolCallId, input: { title, ...input }, round };
    const shown = this.#isPlain && round === 1 ? [this.status("working", this.message(title))] : [];
    return [...this.#details(call), this.note("internal:tool-start", facts), ...shown];
  }

  #changed(before: ProgramToolCall, call: ProgramToolCall): readonly AgentEvent[] {
    return before.changes === call.changes ? [] : this.#details(call);
  }

  #details({ callId: toolCallId, changes }: ProgramToolCall): readonly AgentEvent[] {
    const [change] = changes;
    if (change === undefined) return [];
    const data = editDetails(change);
    return [this.note("internal:tool-note", { toolCallId, name: DETAILS_NOTE, data })];
  }

  #completed({ callId: toolCallId, name: toolName, output }: ProgramToolCall, how: Metadata) {
    return this.note("internal:tool-complete", { toolName, toolCallId, output, ...how });
  }

  #plan(entries: Extract<Said, { kind: "plan" }>["entries"]): readonly AgentEvent[] {
    const note = { toolCallId: "plan", name: PLAN_NOTE, data: entries };
    const events = [this.note("internal:tool-note", note)];
    if (!this.#isPlain) return events;
    const marks = { pending: "[ ]", in_progress: "[>]", completed: "[x]" };
    const lines = entries.map(({ status, content }) => `${marks[status]} ${content}`);
    return [...events, this.status("working", this.message(lines.join("\n")))];
  }

  get #ids(): { readonly taskId: string; readonly contextId: string } {
    const { id: taskId, contextId } = this.#turn.task;
    return { taskId, contextId };
  }
}
