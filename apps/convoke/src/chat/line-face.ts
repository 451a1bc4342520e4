import type { Answer, Question, RunNotice } from "@convoke/client";
import { EXTENSIONS, type PublicEvent } from "@convoke/protocol";
import { oneLine, printable, printableJson } from "@convoke/protocol/internal";
import { toOutcome } from "../follow/outcome.ts";
import { StreamPrinter } from "../follow/stream-printer.ts";
import type { CommandContext, CommandIo } from "../terminal/command.ts";
import { coloursFor, note } from "../terminal/output.ts";
import { advice as adviceFor } from "./approval-words.ts";
import type { ChatFace, Pending, TurnStart, TurnView } from "./face.ts";
import { addressesIn, authorizationAdvice } from "./question.ts";

/**
 * A conversation in lines: messages come from a pipe, or from a terminal without control sequences.
 * The answers go to stdout and everything else to stderr; with --json, each answer is one object.
 */
export class LineFace implements ChatFace {
  readonly isPerson: boolean;
  readonly io: CommandIo;
  /** Receive approvals as data, so that each can be decided separately. */
  readonly extensions = [EXTENSIONS.approvals.uri];
  readonly #context: CommandContext;
  #isReading = false;

  constructor(context: CommandContext) {
    this.#context = context;
    this.io = context.io;
    this.isPerson = isAtTerminal(context);
  }

  async next(pending: Pending | undefined): Promise<string | undefined> {
    this.#isReading = true;
    const typed = await this.#message(pending === undefined ? "> " : "? ");
    this.#isReading = typed === undefined;
    return typed;
  }

  beginTurn({ isAnswer }: TurnStart): TurnView {
    const { io, flag } = this.#context;
    if (flag("json")) return new JsonTurn(io.stdout);
    return new PrintedTurn(new StreamPrinter(io, { skipEarlier: isAnswer, isQuiet: true }));
  }

  ask({ question, approvals }: Pending): void {
    const { io, flag } = this.#context;
    if (flag("json")) return;
    for (const line of this.#questionLines(question, approvals)) io.stderr(`${line}\n`);
  }

  note(line: string): void {
    const { io, flag } = this.#context;
    if (flag("json")) note(this.#context, line);
    else io.stderr(`${coloursFor(io, "stderr").dim(printable(line))}\n`);
  }

  close(): void {
    // The cursor is behind the prompt.
    if (this.isPerson && this.#isReading) this.io.stderr("\n");
    this.io.stdin.close();
  }

  /** Reads one message. A backslash at the end of a line continues it; two stand for a literal backslash. */
  async #message(prompt: string): Promise<string | undefined> {
    const said: string[] = [];
    for (;;) {
      const line = await this.#line(said.length === 0 ? prompt : "… ");
      if (line === undefined) return said.length === 0 ? undefined : said.join("\n");
      if (!line.endsWith("\\")) return [...said, line].join("\n");
      said.push(line.slice(0, -1));
      if (line.endsWith("\\\\")) return said.join("\n");
    }
  }

  #line(prompt: string): Promise<string | undefined> {
    const { io } = this.#context;
    if (this.isPerson) io.stdout(prompt);
    return io.stdin.line();
  }

  #questionLines(question: Question, approvals: Pending["approvals"]): readonly string[] {
    const { bold, dim, yellow } = coloursFor(this.#context.io, "stderr");
    const { isPerson } = this;
    const { kind, text, options = [] } = question;
    if (kind === "auth-required") {
      return [
        yellow(printable(text || "The agent is waiting for authorization.")),
        ...addressesIn(question).map((url) => `Open: ${oneLine(url, 2000)}`),
        ...(isPerson ? [dim(authorizationAdvice(question))] : []),
      ];
    }
    const width = String(options.length).length;
    return [
      bold(printable(text || "The agent is waiting for your answer.")),
      ...options.map(
        (option, place) => `  ${String(place + 1).padStart(width)}  ${oneLine(option)}`,
      ),
      ...(isPerson && options.length > 0 ? [dim(CHOOSE)] : []),
      ...approvals.flatMap(({ tool }, place) => {
        const call = `${tool.name} ${printableJson(tool.arguments)}`;
        return approvals.length === 1 ? [] : [`  ${place + 1}  ${oneLine(call)}`];
      }),
      ...(isPerson && approvals.length > 0 ? [dim(adviceFor(approvals))] : []),
    ];
  }
}

/** Whether a person sits at a terminal, rather than a script at a pipe. */
export function isAtTerminal({ io, flag }: CommandContext): boolean {
  return io.keyboard !== undefined && io.screen !== undefined && !flag("json");
}

const CHOOSE = "Type a number or your own answer.";

/** A turn as text. */
class PrintedTurn implements TurnView {
  readonly #printer: StreamPrinter;

  constructor(printer: StreamPrinter) {
    this.#printer = printer;
  }

  show(event: PublicEvent): void {
    this.#printer.show(event);
  }

  /** Reports only the first attempt to reconnect. */
  notice({ message, ...more }: RunNotice): void {
    if (!("attempt" in more) || more.attempt === 1) this.#printer.note(message);
  }

  canceling(): void {
    this.#printer.note("Canceling. Press Ctrl+C again to leave.");
  }

  end(answer: Answer | undefined): void {
    if (answer === undefined) this.#printer.pause();
    else this.#printer.finish(answer.task && toOutcome(answer.task));
  }
}

/** A turn as JSON: only its answer counts. */
class JsonTurn implements TurnView {
  readonly #stdout: (text: string) => void;

  constructor(stdout: (text: string) => void) {
    this.#stdout = stdout;
  }

  show(): void {}

  notice(): void {}

  canceling(): void {}

  end(answer: Answer | undefined): void {
    if (answer !== undefined) this.#stdout(`${printableJson(answer)}\n`);
  }
}
