import {
  A2AError,
  type AgentEvent,
  type ApprovalAnswer,
  type ApprovalDecision,
  type ApprovalOption,
  type Message,
  type Turn,
  deciderOf,
} from "@convoke/protocol";
import { type ContentChange, previewOf } from "@convoke/coder/internal";
import { type Answer, type OpenRequest, checkAnswer } from "@convoke/runtime";
import {
  approvalRequest,
  askApproval,
  questionMessage,
  readsWordsOnly,
} from "@convoke/runtime/approvals";
import { createHash } from "node:crypto";
import type { Permission, ProgramQuestion, ProgramToolCall } from "../program/program-event.ts";
import type { TurnEvents } from "./turn-events.ts";
import type { PastQuestion, TurnJournal } from "./turn-journal.ts";

/** What a caller decided: one of the options of the program, or nothing, and then perhaps another message. */
export interface Decided {
  readonly option: ApprovalOption | undefined;
  /** The caller said something else instead. */
  readonly instead?: Message;
}

/** Yields the events of a question, and returns what became of it. */
type Asking<T> = AsyncGenerator<readonly AgentEvent[], T>;

/** Asks the caller what a program wants to know. Questions are durable: an answer may come after a restart. */
export class TurnQuestions {
  readonly #turn: Turn;
  readonly #events: TurnEvents;
  readonly #journal: TurnJournal;
  #count = 0;

  constructor(turn: Turn, events: TurnEvents, journal: TurnJournal) {
    this.#turn = turn;
    this.#events = events;
    this.#journal = journal;
  }

  /** Waits for the answer to a question that an earlier attempt asked. */
  async awaitPending(): Promise<void> {
    if (this.#journal.pending !== undefined) this.#journal.settle(await this.#turn.park());
  }

  /** What the caller said instead of a decision on the last question of an earlier attempt. */
  takeSuperseding(): Message | undefined {
    const { last } = this.#journal;
    if (last?.answer === undefined || last.request.kind !== "approval") return undefined;
    if (this.#read(last.request, last.answer).kind === "answers") return undefined;
    return this.#journal.take(last.request)?.answer;
  }

  /**
   * Asks for a decision on a call. If the process is gone when the answer comes, the answer is kept
   * for the next one.
   */
  async *permission({ call, options }: Permission, isAlive: () => boolean): Asking<Decided> {
    const request = this.#approvalFor(call, options);
    yield this.#events.asked(call);
    // An earlier answer names the approval of its own attempt, which has the same digest.
    const past = this.#journal.take(request) ?? (yield* this.#ask(request));
    const answer = past.answer && this.#read(past.request, past.answer);
    const given = answer?.kind === "answers" ? answer.approvals.values().next().value : undefined;
    if (given !== undefined && !isAlive()) {
      this.#journal.keep(past);
      return { option: undefined };
    }
    const { approval, toolCallId } = request;
    const { id: approvalId, digest, tool } = approval;
    const facts = { approvalId, toolCallId, toolName: tool.name, digest };
    const decision = this.#decisionFor(past, given);
    yield [
      this.#events.note("internal:approval-decided", { ...facts, ...decision }),
      ...this.#events.decided(call, decision.outcome === "approved"),
    ];
    const isSuperseded = decision.outcome === "superseded";
    return { option: given?.option, ...(isSuperseded && { instead: past.answer! }) };
  }

  /** Asks a question until the answer fits. Returns an empty text if none came in time. */
  async *question(question: ProgramQuestion, isAlive: () => boolean): Asking<string> {
    const { prompt, options } = question;
    let problem: string | undefined;
    for (;;) {
      const requestId = this.#newId("question");
      const request: OpenRequest = {
        kind: "input",
        requestId,
        toolCallId: requestId,
        prompt,
        sensitive: false,
        ...(options && { options }),
      };
      const earlier = problem === undefined ? this.#journal.take(request) : undefined;
      const past = earlier ?? (yield* this.#ask(request, problem));
      const text = this.#textIn(past);
      if (text !== undefined) {
        if (!isAlive()) this.#journal.keep(past);
        return text;
      }
      problem = `Please answer with one of: ${options?.join(", ") ?? ""}.`;
    }
  }

  async *#ask(request: OpenRequest, problem?: string): Asking<PastQuestion> {
    const { extensions, durable, park } = this.#turn;
    const messageId = this.#events.messageId();
    const message = questionMessage([request], { messageId, problem, extensions });
    yield [
      ...this.#events.flush(),
      this.#events.note("internal:ask", { iteration: 1, requests: [request] }),
      this.#events.status("input-required", message),
    ];
    await durable();
    return { request, isOver: true, answer: await park() };
  }

  /** The answer as text; undefined if it is none of the options. */
  #textIn({ request, answer: message }: PastQuestion): string | undefined {
    if (message === undefined) return "";
    try {
      const answer = this.#read(request, message);
      return answer.kind === "answers" ? answer.inputs.get(request.requestId)?.text : undefined;
    } catch (error) {
      if (!A2AError.is(error)) throw error;
      return undefined;
    }
  }

  #decisionFor({ answer }: PastQuestion, given: ApprovalAnswer | undefined): ApprovalDecision {
    const unanswered = answer === undefined ? "expired" : "superseded";
    const answered = given?.option === "reject" ? "rejected" : "approved";
    return {
      outcome: given === undefined ? unanswered : answered,
      ...(given && { option: given.option, decidedBy: this.#decider(answer!) }),
      ...(given?.feedback !== undefined && { feedback: given.feedback }),
      decidedAt: this.#turn.now().toISOString(),
    };
  }

  #decider(answer: Message): string {
    return deciderOf(answer) ?? this.#turn.caller.owner;
  }

  #read(request: OpenRequest, message: Message): Answer {
    const acceptPlainText = readsWordsOnly(this.#turn.extensions);
    return checkAnswer([request], message, { now: this.#turn.now(), acceptPlainText });
  }

  #approvalFor(call: ProgramToolCall, options: readonly ApprovalOption[]) {
    const { title, name, callId: toolCallId, changes, output } = call;
    const preview = changes.flatMap(previewOf);
    const diff = preview.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n");
    const approval = askApproval({
      id: this.#newId("approval"),
      toolCallId,
      toolName: name,
      arguments: {
        title,
        ...call.input,
        ...(changes.length > 0 && { changes: changes.map(digestOf) }),
      },
      words: { title, prompt: diff || output || title, preview },
      now: this.#turn.now(),
    });
    return approvalRequest({ ...approval, options });
  }

  #newId(what: string): string {
    const { task, attempt } = this.#turn;
    return `${task.id}-${attempt}-${what}-${(this.#count += 1)}`;
  }
}

/** Binds a decision to the contents, which are in the preview. */
function digestOf({ path, before, after }: ContentChange): object {
  const hash = (text = "") => createHash("sha256").update(text).digest("hex");
  return { path, ...(before !== undefined && { before: hash(before) }), after: hash(after) };
}
