import type { Answer, RunNotice } from "@convoke/client";
import { type Approval, EXTENSIONS, type PublicEvent } from "@convoke/protocol";
import { printable } from "@convoke/protocol/internal";
import { type Line, span } from "../screen/cells.ts";
import { editExternally, editorCommand } from "../screen/external-editor.ts";
import type { HistoryFile } from "../screen/history-file.ts";
import { Keyboard, type KeyboardInput } from "../screen/keyboard.ts";
import { Painter, type Screen } from "../screen/painter.ts";
import type { CommandIo } from "../terminal/command.ts";
import { ACTIVITY_EXTENSIONS } from "./activity.ts";
import type { AgentCommand } from "./chat-commands.ts";
import { type DecisionUi, type LineInput, decide } from "./approval-keys.ts";
import type { ChatFace, FaceOptions, Pending, TurnView, Typed } from "./face.ts";
import { ChatInput } from "./input.ts";
import { type LinePrompt, type LiveState, type WorkStatus, layOutLive } from "./live-area.ts";
import { addressesIn, authorizationAdvice, isSensitive } from "./question.ts";
import { FRAME_MS, renderBlock } from "./render-block.ts";
import {
  type Block,
  EMPTY,
  type Transcript,
  addBlock,
  addEvent,
  beginTurn,
  endTurn,
  takeFinished,
} from "./transcript.ts";

export interface ScreenFaceOptions extends FaceOptions {
  readonly io: CommandIo;
  readonly keyboard: KeyboardInput;
  readonly screen: Screen;
  readonly agentName: string;
  /** How the agent is reached, in words. */
  readonly about: string;
  /** How to get help and how to leave. */
  readonly help: string;
  /** What Tab completes. */
  readonly commands: readonly AgentCommand[];
  readonly history: HistoryFile;
}

/** Blocks that can be painted again after the screen was resized. */
const MOST_KEPT = 200;

const USER_PROMPT: Line = [span("❯ ", "cyan", "bold")];

const MESSAGE = {
  kind: "line",
  prompt: USER_PROMPT,
  hint: "",
  isSecret: false,
} as const satisfies LinePrompt;

/** A conversation on a terminal: streamed Markdown, tool cards, and an input line below them. */
export class ScreenFace implements ChatFace, DecisionUi {
  readonly isPerson = true;
  readonly extensions = [
    EXTENSIONS.approvals.uri,
    EXTENSIONS.runReport.uri,
    ...ACTIVITY_EXTENSIONS,
  ];
  readonly io: CommandIo;
  readonly #options: ScreenFaceOptions;
  readonly #painter: Painter;
  readonly #keyboard: Keyboard;
  readonly #input: ChatInput;
  #transcript: Transcript = EMPTY;
  /** The newest finished blocks. */
  #kept: readonly Block[] = [];
  #work: WorkStatus | undefined;
  #paintTimer: NodeJS.Timeout | undefined;
  #spinTimer: NodeJS.Timeout | undefined;
  #paintMs = 0;
  #isOpen = true;

  constructor(options: ScreenFaceOptions) {
    const { io, keyboard, screen, history, commands } = options;
    const hasColours = !io.env["NO_COLOR"];
    this.#options = options;
    this.#painter = new Painter(screen, hasColours);
    this.#input = new ChatInput({
      history,
      commands,
      idle: MESSAGE,
      onChange: () => this.#paintSoon(),
      onInterrupt: options.interrupt,
      onClearScreen: () => this.#clear(),
    });
    this.io = {
      ...io,
      isTTY: { stdout: false, stderr: false },
      stderr: (text) => this.#error(text),
    };
    this.#keyboard = new Keyboard({
      input: keyboard,
      output: screen,
      onKey: (key) => this.#input.press(key),
      onEnd: () => this.#input.end(),
    });
    this.#keyboard.open();
    screen.on("resize", this.#repaint);
    this.#add({ kind: "title", text: options.agentName, about: options.about });
    this.note(options.help);
    this.#paint();
  }

  async next(pending: Pending | undefined): Promise<Typed | undefined> {
    if (pending !== undefined && pending.approvals.length > 0) {
      const typed = await decide(pending.approvals, this);
      if (typeof typed === "string") this.#said(typed);
      return typed;
    }
    const queued = pending === undefined ? this.#input.takeQueued() : undefined;
    if (queued !== undefined) {
      this.#said(queued);
      return queued;
    }
    const isSecret = pending !== undefined && isSensitive(pending.question);
    const prompt = { ...MESSAGE, hint: hintFor(pending), isSecret };
    let input = await this.#input.line(prompt);
    // Escape changes nothing here.
    while (input === "escape") input = await this.#input.line(prompt);
    if (input === undefined || input.text.trim() === "") return input?.text;
    if (isSecret) this.#add({ kind: "user", text: "••••••" });
    else this.#said(input.text);
    return input.text;
  }

  beginTurn(): TurnView {
    this.#transcript = beginTurn(this.#transcript, Date.now());
    this.#work = { startedAt: Date.now(), label: "Working" };
    this.#spinTimer = setInterval(() => this.#paintSoon(), FRAME_MS);
    this.#paintSoon();
    return {
      show: (event) => this.#show(event),
      notice: (notice) => this.#notice(notice),
      canceling: () => this.#label("Canceling, press Ctrl+C again to leave"),
      end: (answer) => this.#endTurn(answer),
    };
  }

  ask({ question, approvals }: Pending): void {
    const [approval] = approvals;
    this.#input.returnQueue();
    if (approval !== undefined) return this.showApproval(approval, false);
    const { kind, text, options = [] } = question;
    const isAuthorization = kind === "auth-required";
    const addresses = isAuthorization ? addressesIn(question).map((url) => `Open: ${url}`) : [];
    const words =
      text || `The agent is waiting for ${isAuthorization ? "authorization" : "your answer"}.`;
    this.#add({
      kind: "question",
      text: [words, ...addresses].join("\n"),
      options,
      isAuthorization,
    });
  }

  note(text: string): void {
    if (this.#isOpen) return this.#add({ kind: "note", text });
    this.#options.io.stderr(`${printable(text)}\n`);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#endSpinner();
    clearTimeout(this.#paintTimer);
    this.#options.screen.off("resize", this.#repaint);
    this.#transcript = endTurn(this.#transcript, false, Date.now());
    this.#paint();
    this.#isOpen = false;
    this.#painter.close();
    this.#keyboard.close();
  }

  showApproval(approval: Approval, isWhole: boolean): void {
    this.#add({ kind: "approval", approval, isWhole });
  }

  key(prompt: Line): Promise<string | undefined> {
    return this.#input.key(prompt);
  }

  /** Escape discards what was typed. */
  async line(prompt: Line, hint: string): Promise<LineInput> {
    const input = await this.#input.line({ kind: "line", prompt, hint, isSecret: false });
    if (input === "escape") this.#input.editor.clear();
    return input;
  }

  async edit(text: string, extension: string): Promise<string | undefined> {
    const command = editorCommand(this.#options.io.env);
    if (command === undefined) {
      this.#input.editor.text = text;
      const input = await this.line([span("✎ ", "yellow")], "Enter runs it. Esc goes back.");
      return typeof input === "object" ? input.text : undefined;
    }
    // The editor needs the whole terminal, and Ctrl+C in it is not meant for us.
    const { io, screen } = this.#options;
    const giveBack = io.onInterrupt(() => undefined);
    screen.off("resize", this.#repaint);
    this.#painter.close();
    this.#keyboard.close();
    try {
      return await editExternally(command, text, extension);
    } finally {
      giveBack();
      screen.on("resize", this.#repaint);
      this.#keyboard.open();
      this.#paint();
    }
  }

  /** A message of the user: on the screen, and in the history. */
  #said(text: string): void {
    this.#input.remember(text);
    this.#add({ kind: "user", text });
  }

  #error(text: string): void {
    this.#add({ kind: "error", text: text.trimEnd() });
  }

  #add(block: Block): void {
    this.#transcript = addBlock(this.#transcript, block);
    this.#paintSoon();
  }

  #show(event: PublicEvent): void {
    this.#transcript = addEvent(this.#transcript, event, Date.now());
    if (this.#work?.label.startsWith("Reconnecting") === true) this.#label("Working");
    this.#paintSoon();
  }

  #notice(notice: RunNotice): void {
    if (notice.kind === "reconnecting") this.#label(`Reconnecting… (attempt ${notice.attempt})`);
    else if (notice.kind === "unreadable") this.note(notice.message);
    else if (notice.kind === "resumed" || notice.kind === "resynced") this.#label("Working");
  }

  #label(label: string): void {
    if (this.#work !== undefined) this.#work = { ...this.#work, label };
    this.#paintSoon();
  }

  #endTurn(answer: Answer | undefined): void {
    this.#endSpinner();
    const isWaiting = answer?.question !== undefined;
    this.#transcript = endTurn(this.#transcript, isWaiting, Date.now());
    // What was typed ahead was meant for a turn that went well.
    const state = answer?.message === undefined ? answer?.task?.status.state : "completed";
    if (state !== "completed") this.#input.returnQueue();
    this.#paintSoon();
  }

  #endSpinner(): void {
    this.#work = undefined;
    clearInterval(this.#spinTimer);
  }

  /** Paints at most as often as the spinner turns, and less often if painting takes long. */
  #paintSoon(): void {
    if (this.#paintTimer !== undefined || !this.#isOpen) return;
    const delay = Math.max(16, this.#paintMs * 4);
    this.#paintTimer = setTimeout(() => this.#paint(), delay);
  }

  #paint(): void {
    clearTimeout(this.#paintTimer);
    this.#paintTimer = undefined;
    const startedAt = performance.now();
    const previous = this.#kept.at(-1);
    const { finished, transcript } = takeFinished(this.#transcript);
    this.#transcript = transcript;
    this.#kept = [...this.#kept, ...finished].slice(-MOST_KEPT);
    this.#painter.paint(this.#render(finished, previous), layOutLive(this.#state, this.#size));
    this.#paintMs = performance.now() - startedAt;
  }

  #clear(): void {
    this.#kept = [];
    this.#repaint();
  }

  readonly #repaint = (): void => {
    this.#painter.repaint(this.#render(this.#kept, undefined), layOutLive(this.#state, this.#size));
  };

  #render(blocks: readonly Block[], previous: Block | undefined): readonly Line[] {
    return blocks.flatMap((block, place) =>
      renderBlock(block, place === 0 ? previous : blocks[place - 1], this.#size),
    );
  }

  get #size(): { readonly width: number; readonly rows: number; readonly now: number } {
    const { columns, rows } = this.#options.screen;
    // Some pseudo-terminals have no size.
    return { width: columns || 80, rows: rows || 24, now: Date.now() };
  }

  get #state(): LiveState {
    const { agentName, commands, usage } = this.#options;
    return {
      blocks: this.#transcript.blocks,
      previous: this.#kept.at(-1),
      work: this.#work,
      queue: this.#input.queue,
      prompt: this.#input.prompt,
      editor: this.#input.editor,
      commands,
      agentName,
      facts: this.#transcript.facts,
      usage: usage.text,
    };
  }
}

function hintFor(pending: Pending | undefined): string {
  if (pending === undefined) return "";
  const { kind, options = [] } = pending.question;
  if (kind === "auth-required") return authorizationAdvice(pending.question);
  return options.length > 0 ? "Type a number or your own answer." : "";
}
