import type { Answer, Conversation, ConversationState, Input, RemoteAgent } from "@convoke/client";
import {
  type Approval,
  RemoteError,
  type Task,
  isInterrupted,
  isTerminal,
  openApprovals,
} from "@convoke/protocol";
import { oneLine } from "@convoke/protocol/internal";
import { explainError } from "../connect/explain-error.ts";
import { toOutcome } from "../follow/outcome.ts";
import { commandLine } from "../terminal/command-line.ts";
import { type CommandContext, EXIT, UsageError, exitCodeFor } from "../terminal/command.ts";
import { coloursFor } from "../terminal/output.ts";
import { type AgentCommand, runChatCommand } from "./chat-commands.ts";
import { decisionsIn } from "./approval-words.ts";
import type { ChatFace, FaceOptions, Pending, Typed } from "./face.ts";
import { ReceivedFiles } from "./files.ts";
import { choose } from "./question.ts";
import { Turn, type TurnOptions } from "./turn.ts";
import { ChatUsage } from "./usage.ts";

export interface ChatOptions {
  readonly agent: RemoteAgent;
  readonly context: CommandContext;
  readonly openFace: (options: FaceOptions) => ChatFace;
  readonly state: ConversationState;
  /** Commands that the agent offers: they are sent to it as they are typed. */
  readonly commands?: readonly AgentCommand[];
  /** The command that continues the conversation. Default `chat`. */
  readonly command?: "chat" | "code";
}

/** A conversation at a terminal, or with lines from a script. */
export class Chat {
  readonly files = new ReceivedFiles();
  readonly usage = new ChatUsage();
  readonly agent: RemoteAgent;
  readonly commands: readonly AgentCommand[];
  readonly #context: CommandContext;
  readonly #command: "chat" | "code";
  readonly #face: ChatFace;
  readonly #left = Promise.withResolvers<undefined>();
  #conversation: Conversation;
  #answer: Answer | undefined;
  #turn: Turn | undefined;
  #isInterrupted = false;
  /** The exit code: a script needs to know if any task failed. */
  #code: number = EXIT.done.code;

  constructor(options: ChatOptions) {
    const { agent, context, openFace, state, commands = [], command = "chat" } = options;
    this.#command = command;
    this.agent = agent;
    this.commands = commands;
    this.#context = context;
    this.#face = openFace({ interrupt: () => this.#interrupt(), usage: this.usage });
    this.#conversation = this.#open(state);
  }

  get state(): ConversationState {
    return this.#conversation.state;
  }

  get signal(): AbortSignal {
    return this.#context.io.signal;
  }

  /** What the agent waits for, if it does. */
  get pending(): Pending | undefined {
    const { question, task } = this.#answer ?? {};
    if (question === undefined || task === undefined) return undefined;
    return { question, approvals: openApprovals(task, new Date()) };
  }

  /** Talks until the input ends. Returns the exit code. */
  async talk(): Promise<number> {
    const { io } = this.#context;
    const giveBack = io.onInterrupt(() => this.#interrupt());
    const leave = (): void => this.#leave();
    io.signal.addEventListener("abort", leave, { once: true });
    try {
      if (this.state.taskId !== undefined) await this.look();
      while (!this.#isInterrupted && (await this.#next()));
    } finally {
      giveBack();
      io.signal.removeEventListener("abort", leave);
      this.#face.close();
    }
    this.#suggestResume();
    if (this.#isInterrupted) return EXIT.interrupted.code;
    return this.#answer?.question === undefined ? this.#code : EXIT.waiting.code;
  }

  /** Prints a remark that is not part of the conversation. */
  note(line: string): void {
    this.#face.note(line);
  }

  /** Starts a new conversation. */
  beginAnew(): void {
    this.#goOn({});
  }

  /** Continues a task, or the conversation of a finished one. */
  async resume({ id, contextId, status }: Task): Promise<void> {
    const taskId = isTerminal(status.state) ? {} : { taskId: id };
    this.#goOn({ contextId, lastTaskId: id, ...taskId });
    await this.look();
  }

  /** Follows the current task until it is finished or interrupted. */
  async look(): Promise<void> {
    const { taskId, lastTaskId } = this.state;
    const id = taskId ?? lastTaskId;
    if (id === undefined) return;
    const answer = await this.#take({
      open: (options) =>
        this.agent.subscribe(id, { ...options, extensions: this.#face.extensions }),
      isAnswer: this.#answer !== undefined,
      isLook: true,
    });
    if (answer?.task !== undefined) this.#goOn(stateOf(answer.task), answer);
  }

  /** Cancels the task that is waiting for an answer. */
  async cancelTask(): Promise<void> {
    const { taskId } = this.state;
    if (taskId === undefined) return this.note("No task is waiting for you.");
    const task = await this.agent.cancel(taskId, { signal: this.signal });
    this.#goOn(stateOf(task));
    this.note(`task ${oneLine(task.id)} ${task.status.state}`);
  }

  /** Reads one message or command and acts on it. Returns false at the end. */
  async #next(): Promise<boolean> {
    const { pending } = this;
    try {
      const typed = await Promise.race([this.#face.next(pending), this.#left.promise]);
      if (typed === undefined) return false;
      if (typeof typed === "string" && /^\/(?!\/)/.test(typed)) {
        return await runChatCommand(typed, this);
      }
      if (typeof typed !== "string" || typed.trim() !== "") await this.#answerOrSay(typed);
      else if (pending?.question.kind === "auth-required") await this.look();
      return true;
    } catch (error) {
      return this.#explain(error);
    }
  }

  /**
   * Sends what was typed. If the agent rejects an answer, for example because the approval has
   * expired or was decided elsewhere, a person sees what the task waits for now.
   */
  async #answerOrSay(typed: Typed): Promise<void> {
    const { pending } = this;
    try {
      await this.say(this.#meant(typed));
    } catch (error) {
      const isRejected = error instanceof RemoteError && error.httpStatus !== 401;
      if (pending === undefined || !this.#face.isPerson || !isRejected) throw error;
      this.#explain(error);
      await this.look();
    }
  }

  /** Interprets what was typed: a decision, one of the options, or plain text. */
  #meant(typed: Typed): Input {
    if (typeof typed !== "string") return typed;
    const text = typed.replace(/^\/\//, "/");
    const { approvals = [] as readonly Approval[], question } = this.pending ?? {};
    return decisionsIn(text, approvals) ?? choose(text, question?.options);
  }

  /** Sends a message, and shows the answer. */
  async say(input: Input): Promise<void> {
    const answer = await this.#take({
      open: (options) => this.#conversation.say(input, options),
      isAnswer: this.state.taskId !== undefined,
      isLook: false,
    });
    if (answer !== undefined) this.#answer = answer;
  }

  /** Shows an answer and what to do next. Returns `undefined` if the user left before the end. */
  async #take({
    isAnswer,
    ...options
  }: Omit<TurnOptions, "context" | "view" | "usage"> & { readonly isAnswer: boolean }): Promise<
    Answer | undefined
  > {
    const view = this.#face.beginTurn({ isAnswer });
    this.#turn = new Turn({ ...options, context: this.#context, view, usage: this.usage });
    try {
      const answer = await this.#turn.follow();
      this.#report(answer);
      return answer;
    } catch (error) {
      if (!this.#isInterrupted) throw error;
      return undefined;
    } finally {
      this.#turn = undefined;
    }
  }

  #report({ task, question }: Answer): void {
    if (task === undefined) return;
    const known = this.files.all.length;
    this.files.add(task);
    if (exitCodeFor(task.status.state) === EXIT.taskFailed.code) this.#code = EXIT.taskFailed.code;
    if (this.#context.flag("json")) return;
    for (const [place, { name, about }] of this.files.all.entries()) {
      if (place >= known) this.note(`[${place + 1}] ${oneLine(name)}: ${oneLine(about)}`);
    }
    if (this.files.all.length > known && this.#face.isPerson) this.note("/save keeps them.");
    if (question === undefined) this.#reportEnd(task);
    else this.#face.ask({ question, approvals: openApprovals(task, new Date()) });
  }

  #reportEnd(task: Task): void {
    const { io } = this.#face;
    const { state, said } = toOutcome(task);
    if (exitCodeFor(state) !== EXIT.taskFailed.code) return;
    const { red } = coloursFor(io, "stderr");
    io.stderr(`${red(said === "" ? state : `${state}: ${oneLine(said)}`)}\n`);
  }

  /**
   * Prints an error. A user can continue, unless the agent requires credentials. A script stops,
   * because its next lines depend on the answer.
   */
  #explain(error: unknown): boolean {
    if (error instanceof UsageError) {
      this.note(error.message);
      return true;
    }
    const code = explainError(error, { ...this.#context, io: this.#face.io });
    const isLocked = error instanceof RemoteError && error.httpStatus === 401;
    if (this.#face.isPerson && !isLocked && code !== EXIT.interrupted.code) return true;
    this.#code = code;
    return false;
  }

  #goOn(state: ConversationState, answer?: Answer): void {
    this.#conversation = this.#open(state);
    this.#answer = answer;
  }

  #open(state: ConversationState): Conversation {
    return this.agent.conversation({ state, extensions: this.#face.extensions });
  }

  /** Ctrl+C cancels the current task. A second one, or one while no task is running, leaves the chat. */
  #interrupt(): void {
    const turn = this.#turn;
    if (turn === undefined || turn.isCanceled) return this.#leave();
    turn.cancel().then(
      (task) => task ?? this.note("There is no task to cancel yet. Press Ctrl+C again to leave."),
      (error: unknown) => void (this.#isInterrupted || this.#explain(error)),
    );
  }

  #leave(): void {
    this.#isInterrupted = true;
    this.#turn?.leave();
    this.#left.resolve(undefined);
  }

  #suggestResume(): void {
    const { contextId, taskId } = this.state;
    if (contextId === undefined) return;
    const place = ["--context", contextId, ...(taskId === undefined ? [] : ["--task", taskId])];
    this.note(`Continue with: ${commandLine(this.#context, this.#command, place)}`);
  }
}

function stateOf({ id, contextId, status }: Task): ConversationState {
  return { contextId, lastTaskId: id, ...(isInterrupted(status.state) && { taskId: id }) };
}
