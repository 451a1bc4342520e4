import {
  type PromptResponse,
  RequestError,
  type SessionUpdate,
  type StopReason,
} from "@agentclientprotocol/sdk";
import type { Answer, Conversation, Input, Question, RemoteAgent, Run } from "@convoke/client";
import {
  type Approval,
  type DataPart,
  ERRORS,
  EXTENSIONS,
  type PublicEvent,
  RemoteError,
  type Task,
  type TaskState,
  isTerminal,
  openApprovals,
  textOfParts,
} from "@convoke/protocol";
import { orAborted } from "@convoke/protocol/internal";
import type { AskClient } from "./ask-client.ts";
import type { TaskUpdates } from "./task-updates.ts";

export interface TurnOptions {
  readonly agent: RemoteAgent;
  readonly conversation: Conversation;
  readonly updates: TaskUpdates;
  readonly ask: AskClient;
  readonly show: (update: SessionUpdate) => Promise<void>;
  /** Aborts when the editor is gone: the turn is left, and the task continues. */
  readonly gone: AbortSignal;
  /** Writes a line to the log. */
  readonly note: (message: string) => void;
}

/**
 * Follows one task for the editor: shows what it does and asks what it needs, until it has ended or
 * waits for the next prompt.
 */
export class Turn {
  readonly #options: TurnOptions;
  /** Aborts when the user cancels, or another prompt takes over. */
  readonly #stop = new AbortController();
  /** The permissions that the user was asked for, by the ids of the approvals. */
  readonly #asked = new Map<string, AskedPermission>();
  /** Aborts when the turn is left although the agent has not ended it. */
  readonly #giveUp = new AbortController();
  readonly #gone: AbortSignal;
  #run: Run | undefined;
  #isCanceled = false;

  constructor(options: TurnOptions) {
    this.#options = options;
    this.#gone = AbortSignal.any([options.gone, this.#giveUp.signal]);
  }

  get isCanceled(): boolean {
    return this.#isCanceled;
  }

  /** Whether it waits for the user, and not for the agent. */
  get isAsking(): boolean {
    return this.#run === undefined;
  }

  /** Sends a message, or continues the last task of the conversation if there is none. */
  async follow(input: Input | undefined): Promise<PromptResponse> {
    try {
      return await this.#exchange(input);
    } catch (error) {
      if (!this.#giveUp.signal.aborted) throw error;
      return { stopReason: "cancelled" };
    }
  }

  async #exchange(input: Input | undefined): Promise<PromptResponse> {
    let next = input;
    for (;;) {
      const { task, question } = await this.#showRun(next, next !== input);
      this.#run = undefined;
      if (task === undefined || question === undefined || isTerminal(task.status.state)) {
        return this.#end(task);
      }
      const reply = await this.#ask(task, question);
      if (reply === "left") {
        return this.#end(this.#isCanceled ? await this.#cancelWaiting(task) : task);
      }
      next = reply === "changed" ? undefined : reply.input;
    }
  }

  /** Cancels the task. */
  async cancel(): Promise<void> {
    this.#isCanceled = true;
    this.#stop.abort(new Error("canceled"));
    try {
      await this.#run?.cancel();
    } catch (error) {
      this.#options.note(`The task could not be canceled: ${String(error)}`);
      this.giveUp();
    }
  }

  /** Stops following. The task continues. */
  giveUp(): void {
    this.#giveUp.abort(new Error("the turn was left"));
  }

  /** Stops asking, because the next prompt is the answer. */
  leave(): void {
    this.#stop.abort(new Error("the next prompt answers"));
  }

  readonly #onNotice = (notice: { readonly message: string; readonly attempt?: number }): void => {
    if (notice.attempt === undefined || notice.attempt === 1) this.#options.note(notice.message);
  };

  /**
   * Shows what follows from a message, or from the last task if there is none. A decision that came
   * too late is not an error: the task goes on.
   */
  async #showRun(input: Input | undefined, isAnswer: boolean): Promise<Answer> {
    const { updates, show, conversation } = this.#options;
    const follow = { signal: this.#gone, onNotice: this.#onNotice };
    const run = input === undefined ? conversation.resume(follow) : conversation.say(input, follow);
    this.#run = run;
    try {
      for await (const event of run) {
        for (const update of updates.next(event)) await show(update);
        if (isAuthRequired(event)) break;
      }
      return await run.result;
    } catch (error) {
      const isLate = error instanceof RemoteError && error.code === ERRORS.InvalidParams.code;
      if (!isAnswer || !isLate) throw error;
      return this.#showRun(undefined, false);
    }
  }

  /**
   * Asks the user what the task waits for. Returns the reply for the agent, "changed" if the task no
   * longer waits for it, or "left" if the next prompt is the reply.
   */
  async #ask(task: Task, question: Question): Promise<Reply> {
    if (this.#stop.signal.aborted) return "left";
    const approvals = openApprovals(task, new Date());
    const watching = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, this.#gone]);
    try {
      if (approvals.length === 0) return await this.#askQuestion(task, question, signal);
      const decided = this.#askPermissions(task, approvals, signal);
      const changed = this.#changed(task, approvals, watching.signal);
      return await orAborted(Promise.race([decided, changed]), signal);
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
      return "left";
    } finally {
      watching.abort();
    }
  }

  async #askQuestion(task: Task, question: Question, signal: AbortSignal): Promise<Reply> {
    const { ask, updates, show } = this.#options;
    const answer =
      question.kind === "input-required" ? await ask.answer(question, signal) : undefined;
    if (answer !== undefined) return { input: answer };
    const { text, options = [] } = question;
    const lines = [text || WAITING[question.kind], ...options.map((option) => `- ${option}`)];
    for (const update of updates.question(task, lines.join("\n"))) await show(update);
    return "left";
  }

  /**
   * Asks for all permissions at once, and returns the decisions that were made first. Those that are
   * still open are not asked for again when the task returns with them.
   */
  async #askPermissions(
    task: Task,
    approvals: readonly Approval[],
    signal: AbortSignal,
  ): Promise<Reply> {
    const { ask, updates, show } = this.#options;
    const open = new Set(approvals.map(({ id }) => id));
    for (const [id, { withdraw }] of this.#asked) {
      if (!open.has(id)) withdraw.abort(new Error("decided elsewhere"));
      if (!open.has(id)) this.#asked.delete(id);
    }
    for (const approval of approvals) {
      if (this.#asked.has(approval.id)) continue;
      for (const update of updates.announce(task.id, approval)) await show(update);
      const withdraw = new AbortController();
      const both = AbortSignal.any([signal, withdraw.signal]);
      const answer = ask.permission(approval, updates.toolCall(task.id, approval), both);
      this.#asked.set(approval.id, new AskedPermission(answer, withdraw));
    }
    await Promise.race([...this.#asked.values()].map(({ answer }) => answer));
    const settled = [...this.#asked].filter(([, { isSettled }]) => isSettled);
    for (const [id] of settled) this.#asked.delete(id);
    const parts = await Promise.all(settled.map(([, { answer }]) => answer));
    const decisions = parts.filter((part) => part !== undefined);
    return decisions.length === 0 ? "left" : { input: decisions };
  }

  /** Resolves when one of the approvals was decided elsewhere, has expired, or the task has ended. */
  async #changed(
    { id }: Task,
    approvals: readonly Approval[],
    signal: AbortSignal,
  ): Promise<"changed"> {
    const run = this.#options.agent.subscribe(id, { signal });
    try {
      for await (const _ of run) {
        const open = run.task === undefined ? approvals : openApprovals(run.task, new Date());
        const ids = new Set(open.map((approval) => approval.id));
        if (approvals.some((approval) => !ids.has(approval.id))) return "changed";
      }
    } catch (error) {
      // An agent without subscriptions: the answer of the user shows whether it came too late.
      if (!signal.aborted) this.#options.note(`The task cannot be watched: ${String(error)}`);
    }
    return new Promise(() => undefined);
  }

  async #cancelWaiting(task: Task): Promise<Task> {
    const { agent, updates, show, note } = this.#options;
    try {
      const canceled = await agent.cancel(task.id);
      for (const update of updates.next(canceled)) await show(update);
      return canceled;
    } catch (error) {
      note(`The task could not be canceled: ${String(error)}`);
      return task;
    }
  }

  #end(task: Task | undefined): PromptResponse {
    const { usage, finish } = this.#options.updates;
    const meta = usage && { _meta: { [EXTENSIONS.coder.uri]: { usage } } };
    const { state, message } = task?.status ?? { state: "completed" };
    if (this.#isCanceled) return { stopReason: "cancelled", ...meta };
    const unfinished = UNFINISHED[finish];
    if (unfinished !== undefined) return { stopReason: unfinished, ...meta };
    if (state === "failed") {
      const why = message === undefined ? "" : textOfParts(message.parts);
      const text = why === "" ? "The task failed." : `The task failed: ${why}`;
      throw new RequestError(INTERNAL_ERROR, text, { taskId: task?.id });
    }
    return { stopReason: STOP_REASONS[state] ?? "end_turn", ...meta };
  }
}

/** An answer, or why there is none. */
type Reply = { readonly input: Input } | "changed" | "left";

const INTERNAL_ERROR = -32603;

const STOP_REASONS: Partial<Readonly<Record<TaskState, StopReason>>> = {
  canceled: "cancelled",
  rejected: "refusal",
};

/** Why the model did not finish its answer. */
const UNFINISHED: Partial<Readonly<Record<string, StopReason>>> = {
  length: "max_tokens",
  "content-filter": "refusal",
};

const WAITING = {
  "input-required": "The agent is waiting for your answer.",
  "auth-required": "The agent is waiting for an authorization. Continue with any message.",
} as const;

/** A permission that the user was asked for. */
class AskedPermission {
  readonly answer: Promise<DataPart | undefined>;
  /** Takes the request back. */
  readonly withdraw: AbortController;
  isSettled = false;

  constructor(answer: Promise<DataPart | undefined>, withdraw: AbortController) {
    this.withdraw = withdraw;
    this.answer = answer.finally(() => {
      this.isSettled = true;
    });
    // A request that was withdrawn has no reader.
    this.answer.catch(() => undefined);
  }
}

function isAuthRequired(event: PublicEvent): boolean {
  return event.kind === "status-update" && event.status.state === "auth-required";
}
