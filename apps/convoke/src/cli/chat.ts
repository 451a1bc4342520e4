import type { ConversationState, RemoteAgent } from "@convoke/client";
import { isInterrupted, isTerminal } from "@convoke/protocol";
import { oneLine } from "@convoke/protocol/internal";
import { AGENT_ENVIRONMENT, AGENT_OPTIONS, refuseText, urlOf } from "./agent-options.ts";
import { Chat } from "./chat/chat.ts";
import type { LineSource } from "./chat/line-source.ts";
import { coloursFor } from "./colours.ts";
import type { Command, CommandContext } from "./command.ts";
import { RECONNECT_OPTIONS, reconnectOf } from "./reconnect-options.ts";
import { withAgent } from "./with-agent.ts";
import type { StdinText } from "./stdin-text.ts";
import { createInterface, type Interface } from "node:readline";
import type { ReadStream, WriteStream } from "node:tty";
import { Writable } from "node:stream";

export const chatCommand: Command = {
  name: "chat",
  summary: "Talk with an agent; without a terminal, line by line from stdin",
  usage: "<url> [options]",
  examples: [
    "convoke chat http://127.0.0.1:3000",
    "convoke chat http://127.0.0.1:3000 --context 0198f3c2",
    "printf 'ask\\nAnn\\n' | convoke chat http://127.0.0.1:3000",
    "convoke chat http://127.0.0.1:3000 --json < questions.txt | jq -r .text",
  ],
  options: {
    context: { type: "string", value: "<id>", help: "Go on with this conversation" },
    task: { type: "string", value: "<id>", help: "Go on with this task, which may wait for you" },
    ...RECONNECT_OPTIONS,
    ...AGENT_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: chat,
};

async function chat(context: CommandContext): Promise<number> {
  urlOf(context);
  refuseText(context);
  reconnectOf(context);
  return withAgent(context, async (agent) => {
    const state = await stateAt(context, agent);
    const openLines = (interrupt: () => void): LineSource => linesFrom(context, interrupt);
    if (isPerson(context)) greet(context, agent);
    return new Chat({ agent, context, openLines, state }).talk();
  });
}

function isPerson({ io, flag }: CommandContext): boolean {
  return io.keyboard !== undefined && io.screen !== undefined && !flag("json");
}

function linesFrom({ io, flag }: CommandContext, onInterrupt: () => void): LineSource {
  const { keyboard, screen, stdin, env } = io;
  if (keyboard === undefined || screen === undefined || flag("json")) return new PipedLines(stdin);
  return new TerminalLines({ keyboard, screen, isDumb: env["TERM"] === "dumb", onInterrupt });
}

/** Where the conversation goes on. */
async function stateAt(
  { io, text }: CommandContext,
  agent: RemoteAgent,
): Promise<ConversationState> {
  const contextId = text("context");
  const taskId = text("task");
  if (taskId === undefined) return contextId === undefined ? {} : { contextId };
  const task = await agent.get(taskId, { historyLength: 0, signal: io.signal });
  const isOpen = isInterrupted(task.status.state) || !isTerminal(task.status.state);
  return {
    contextId: contextId ?? task.contextId,
    lastTaskId: taskId,
    ...(isOpen && { taskId }),
  };
}

function greet({ io }: CommandContext, agent: RemoteAgent): void {
  const { bold, dim } = coloursFor(io, "stderr");
  const how = `A2A ${agent.version} by ${agent.binding} at ${oneLine(agent.url)}`;
  io.stderr(`${bold(oneLine(agent.name))} ${dim(`(${how})`)}\n`);
  io.stderr(`${dim("/help shows what you can type. Ctrl+D leaves.")}\n`);
}

/** Lines that a script has written: they are answered in order, and nobody is prompted. */
class PipedLines implements LineSource {
  readonly isPerson = false;
  readonly #stdin: StdinText;

  constructor(stdin: StdinText) {
    this.#stdin = stdin;
  }

  next(): Promise<string | undefined> {
    return this.#stdin.line();
  }

  close(): void {
    this.#stdin.close();
  }
}

interface TerminalLinesOptions {
  readonly keyboard: ReadStream;
  readonly screen: WriteStream;
  /** The terminal knows no control sequences; then it edits its lines itself. */
  readonly isDumb: boolean;
  readonly onInterrupt: () => void;
}

/** Lines that a person types, with a history. What is typed ahead waits for its prompt. */
class TerminalLines implements LineSource {
  readonly isPerson = true;
  readonly #screen: WriteStream;
  readonly #output: MutedOutput;
  readonly #lines: Interface;
  readonly #ahead: string[] = [];
  #waiting: ((line: string | undefined) => void) | undefined;
  #isClosed = false;

  constructor({ keyboard, screen, isDumb, onInterrupt }: TerminalLinesOptions) {
    this.#screen = screen;
    this.#output = new MutedOutput(screen);
    this.#lines = createInterface({
      input: keyboard,
      output: this.#output,
      terminal: !isDumb,
      historySize: 500,
      removeHistoryDuplicates: true,
    });
    this.#lines.on("line", (line) => this.#take(line));
    this.#lines.on("SIGINT", onInterrupt);
    this.#lines.on("close", () => this.#end());
  }

  next(prompt: string): Promise<string | undefined> {
    const line = this.#ahead.shift();
    if (line !== undefined) this.#screen.write(`${prompt}${line}\n`);
    if (line !== undefined || this.#isClosed) return Promise.resolve(line);
    this.#output.isMuted = false;
    this.#lines.setPrompt(prompt);
    // readline would go back over as many rows as it believes to have written; they were not shown.
    (this.#lines as { prevRows?: number }).prevRows = 0;
    this.#lines.prompt(true);
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  close(): void {
    this.#output.isMuted = true;
    this.#lines.close();
    this.#output.destroy();
  }

  #take(line: string): void {
    if (this.#waiting === undefined) return void this.#ahead.push(line);
    this.#output.isMuted = true;
    this.#waiting(line);
    this.#waiting = undefined;
  }

  #end(): void {
    this.#isClosed = true;
    this.#waiting?.(undefined);
    this.#waiting = undefined;
  }
}

/**
 * A screen that can be switched off: while the agent speaks, what is typed
 * ahead must not appear in the middle of its words.
 */
class MutedOutput extends Writable {
  isMuted = true;
  readonly #screen: WriteStream;
  readonly #resized = (): void => void this.emit("resize");

  constructor(screen: WriteStream) {
    super({ decodeStrings: false });
    this.#screen = screen;
    screen.on("resize", this.#resized);
  }

  /** readline wraps long lines by it. */
  get columns(): number {
    return this.#screen.columns;
  }

  override _write(chunk: string | Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (!this.isMuted) this.#screen.write(chunk);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#screen.off("resize", this.#resized);
    done(error);
  }
}
