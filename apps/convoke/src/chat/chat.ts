import type {
  Answer,
  Conversation,
  ConversationState,
  Input,
  Question,
  RemoteAgent,
} from "@convoke/client";
import {
  type A2APart,
  type Approval,
  EXTENSIONS,
  RemoteError,
  type Task,
  isInterrupted,
  openApprovals,
} from "@convoke/protocol";
import { oneLine, printable, printableJson } from "@convoke/protocol/internal";
import { coloursFor, note } from "../terminal/output.ts";
import {
  type CommandContext,
  type CommandIo,
  EXIT,
  UsageError,
  exitCodeFor,
} from "../terminal/command.ts";
import { commandLine } from "../terminal/command-line.ts";
import { explainError } from "../connect/explain-error.ts";
import { credentialIn, toOutcome } from "../follow/outcome.ts";
import { runChatCommand } from "./chat-commands.ts";
import { Turn, type TurnOptions, advice as adviceFor, decisionsIn } from "./turn.ts";
import type { LineSource } from "./lines.ts";
import { ReceivedFiles } from "./files.ts";

/** Receive approvals as data, so that each can be decided separately. */
const ASKED = [EXTENSIONS.approvals.uri];

export interface ChatOptions {
  readonly agent: RemoteAgent;
  readonly context: CommandContext;
  readonly openLines: (interrupt: () => void) => LineSource;
  readonly state: ConversationState;
}

/** A conversation at a terminal, or with lines from a script. */
export class Chat {
  readonly files = new ReceivedFiles();
  readonly agent: RemoteAgent;
  readonly #context: CommandContext;
  readonly #lines: LineSource;
  readonly #left = Promise.withResolvers<undefined>();
  #conversation: Conversation;
  #answer: Answer | undefined;
  #turn: Turn | undefined;
  #isInterrupted = false;
  /** The exit code: a script needs to know if any task failed. */
  #code: number = EXIT.done.code;

  constructor({ agent, context, openLines, state }: ChatOptions) {
    this.agent = agent;
    this.#context = context;
    this.#conversation = agent.conversation({ state, extensions: ASKED });
    this.#lines = openLines(() => this.#interrupt());
  }

  get state(): ConversationState {
    return this.#conversation.state;
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
      this.#lines.close();
    }
    this.#suggestResume();
    if (this.#isInterrupted) return EXIT.interrupted.code;
    return this.#answer?.question === undefined ? this.#code : EXIT.waiting.code;
  }

  /** Prints a remark that is not part of the conversation. */
  note(line: string): void {
    const { io, flag } = this.#context;
    if (flag("json")) note(this.#context, line);
    else io.stderr(`${coloursFor(io, "stderr").dim(printable(line))}\n`);
  }

  /** Starts a new conversation. */
  beginAnew(): void {
    this.#goOn({});
  }

  /** Follows the current task until it is finished or interrupted. */
  async look(): Promise<void> {
    const { taskId, lastTaskId } = this.state;
    const id = taskId ?? lastTaskId;
    if (id === undefined) return;
    const answer = await this.#take({
      open: (options) => this.agent.subscribe(id, options),
      isAnswer: this.#answer !== undefined,
      isLook: true,
    });
    if (answer?.task !== undefined) this.#goOn(stateOf(answer.task), answer);
  }

  /** Cancels the task that is waiting for an answer. */
  async cancelTask(): Promise<void> {
    const { taskId } = this.state;
    if (taskId === undefined) return this.note("No task is waiting for you.");
    const task = await this.agent.cancel(taskId, { signal: this.#context.io.signal });
    this.#goOn(stateOf(task));
    this.note(`task ${oneLine(task.id)} ${task.status.state}`);
  }

  /** Reads one line and acts on it. Returns false at the end. */
  async #next(): Promise<boolean> {
    const { question } = this.#answer ?? {};
    const reading = readMessage(this.#lines, question === undefined ? "> " : "? ");
    const typed = await Promise.race([reading, this.#left.promise]);
    if (typed === undefined) {
      if (this.#lines.isPerson) this.#context.io.stderr("\n");
      return false;
    }
    try {
      if (typed.startsWith("/") && !typed.startsWith("//"))
        return await runChatCommand(typed, this);
      if (typed.trim() !== "") await this.#say(this.#meant(typed.replace(/^\/\//, "/")));
      else if (question?.kind === "auth-required") await this.look();
      return true;
    } catch (error) {
      return this.#explain(error);
    }
  }

  /** Interprets a line: a decision, one of the options, or plain text. */
  #meant(typed: string): Input {
    const { question } = this.#answer ?? {};
    return decisionsIn(typed, this.#approvals()) ?? choose(typed, question?.options);
  }

  /** The approvals that the task is waiting for. */
  #approvals(answer = this.#answer): readonly Approval[] {
    return answer?.task === undefined ? [] : openApprovals(answer.task, new Date());
  }

  async #say(input: Input): Promise<void> {
    const answer = await this.#take({
      open: (options) => this.#conversation.say(input, options),
      isAnswer: this.state.taskId !== undefined,
      isLook: false,
    });
    if (answer !== undefined) this.#answer = answer;
  }

  /** Prints an answer and what to do next. Returns `undefined` if the user left before the end. */
  async #take(options: Omit<TurnOptions, "context">): Promise<Answer | undefined> {
    this.#turn = new Turn({ ...options, context: this.#context });
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

  #report(answer: Answer): void {
    const { io, flag } = this.#context;
    const { task, question } = answer;
    const known = this.files.all.length;
    if (task !== undefined) this.files.add(task);
    if (task !== undefined && exitCodeFor(task.status.state) === EXIT.taskFailed.code) {
      this.#code = EXIT.taskFailed.code;
    }
    if (flag("json")) return io.stdout(`${printableJson(answer)}\n`);
    for (const [place, { name, about }] of this.files.all.entries()) {
      if (place >= known) this.note(`[${place + 1}] ${oneLine(name)}: ${oneLine(about)}`);
    }
    if (this.files.all.length > known && this.#lines.isPerson) this.note("/save keeps them.");
    if (question !== undefined) {
      const approvals = this.#approvals(answer);
      showQuestion(question, { io, approvals, isPerson: this.#lines.isPerson });
    }
    if (question === undefined && task !== undefined) this.#reportEnd(task);
  }

  #reportEnd(task: Task): void {
    const { io } = this.#context;
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
    const code = explainError(error, this.#context);
    const isLocked = error instanceof RemoteError && error.httpStatus === 401;
    if (this.#lines.isPerson && !isLocked && code !== EXIT.interrupted.code) return true;
    this.#code = code;
    return false;
  }

  #goOn(state: ConversationState, answer?: Answer): void {
    this.#conversation = this.agent.conversation({ state, extensions: ASKED });
    this.#answer = answer;
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
    this.note(`Continue with: ${commandLine(this.#context, "chat", place)}`);
  }
}

function stateOf({ id, contextId, status }: Task): ConversationState {
  return { contextId, lastTaskId: id, ...(isInterrupted(status.state) && { taskId: id }) };
}

/** Interprets the answer to a question with options: a number, an option in any case, or other text. */
function choose(typed: string, options: readonly string[] = []): string {
  const words = typed.trim();
  const same = options.find((option) => option === words);
  const alike = options.filter((option) => option.toLowerCase() === words.toLowerCase());
  const numbered = /^\d+$/.test(words) ? options[Number(words) - 1] : undefined;
  return same ?? numbered ?? (alike.length === 1 ? alike[0] : undefined) ?? typed;
}

/** Reads one message. A backslash at the end of a line continues it; two stand for a literal backslash. */
async function readMessage(lines: LineSource, prompt: string): Promise<string | undefined> {
  const said: string[] = [];
  for (;;) {
    const line = await lines.next(said.length === 0 ? prompt : "… ");
    if (line === undefined) return said.length === 0 ? undefined : said.join("\n");
    if (!line.endsWith("\\")) return [...said, line].join("\n");
    said.push(line.slice(0, -1));
    if (line.endsWith("\\\\")) return said.join("\n");
  }
}

interface ShownTo {
  readonly io: CommandIo;
  /** What is to be decided. */
  readonly approvals: readonly Approval[];
  readonly isPerson: boolean;
}

/** Prints what the agent is waiting for, and how to answer. */
function showQuestion(question: Question, to: ShownTo): void {
  for (const line of linesOf(question, to)) to.io.stderr(`${line}\n`);
}

function linesOf(question: Question, { io, approvals, isPerson }: ShownTo): readonly string[] {
  const { bold, dim, yellow } = coloursFor(io, "stderr");
  const { kind, text, options = [], message } = question;
  if (kind === "auth-required") {
    const addresses = addressesIn(message?.parts ?? []).filter((url) => !text.includes(url));
    const credential = credentialIn(message);
    const advice =
      credential === undefined
        ? "Once that is done, press Enter to check again, or tell the agent."
        : `Type the credential for ${oneLine(credential)}.`;
    return [
      yellow(printable(text || "The agent is waiting for authorization.")),
      ...addresses.map((url) => `Open: ${oneLine(url, 2000)}`),
      ...(isPerson ? [dim(advice)] : []),
    ];
  }
  const width = String(options.length).length;
  const advice = "Type a number or your own answer.";
  return [
    bold(printable(text || "The agent is waiting for your answer.")),
    ...options.map((option, place) => `  ${String(place + 1).padStart(width)}  ${oneLine(option)}`),
    ...(isPerson && options.length > 0 ? [dim(advice)] : []),
    ...approvals.flatMap(({ tool }, place) => {
      const call = `${tool.name} ${printableJson(tool.arguments)}`;
      return approvals.length === 1 ? [] : [`  ${place + 1}  ${oneLine(call)}`];
    }),
    ...(isPerson && approvals.length > 0 ? [dim(adviceFor(approvals))] : []),
  ];
}

/** A2A has no field for the authorization URL; agents put it into the text or into data. */
function addressesIn(parts: readonly A2APart[]): readonly string[] {
  const found = new Set<string>();
  const look = (value: unknown): void => {
    if (typeof value === "string" && /^https?:\/\/\S+$/.test(value)) found.add(value);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(look);
  };
  for (const part of parts) if (part.kind === "data") look(part.data);
  return [...found];
}
