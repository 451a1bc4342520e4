import type { Line } from "../screen/cells.ts";
import type { HistoryFile } from "../screen/history-file.ts";
import type { Key, KeyName } from "../screen/keys.ts";
import { LineEditor } from "../screen/line-editor.ts";
import type { AgentCommand } from "./chat-commands.ts";
import type { LineInput } from "./approval-keys.ts";
import { type LinePrompt, type Prompt, matches } from "./live-area.ts";

export interface ChatInputOptions {
  readonly history: HistoryFile;
  /** What Tab completes. */
  readonly commands: readonly AgentCommand[];
  /** The prompt while nothing is asked for. */
  readonly idle: LinePrompt;
  /** Something that is shown has changed. */
  readonly onChange: () => void;
  readonly onInterrupt: () => void;
  readonly onClearScreen: () => void;
}

/**
 * Keys that arrive this soon after a decision is asked for were meant for the message that the user
 * was typing: they must not approve anything.
 */
const GUARD_MS = 250;

/** Keys that work everywhere; the others edit a text. */
const GENERAL_KEYS: ReadonlySet<KeyName> = new Set<KeyName>([
  "interrupt",
  "end-of-input",
  "clear-screen",
  "escape",
]);

/** What the user types: answers to prompts, and messages ahead while nothing is asked for. */
export class ChatInput {
  readonly editor: LineEditor;
  readonly #options: ChatInputOptions;
  #prompt: Prompt;
  #queue: readonly string[] = [];
  #waiting: ((input: LineInput) => void) | undefined;
  #promptedAt = 0;
  #isEnded = false;

  constructor(options: ChatInputOptions) {
    this.#options = options;
    this.#prompt = options.idle;
    this.editor = new LineEditor(options.history.read());
  }

  get prompt(): Prompt {
    return this.#prompt;
  }

  /** Messages that were typed ahead. */
  get queue(): readonly string[] {
    return this.#queue;
  }

  /** Waits for a text. */
  line(prompt: LinePrompt): Promise<LineInput> {
    return this.#wait(prompt);
  }

  /** Waits for a single key: its character, or "escape". */
  async key(prompt: Line): Promise<string | undefined> {
    // A user who is typing a message must finish or leave it before single keys decide.
    if (this.editor.text !== "") return "escape";
    const pressed = await this.#wait({ kind: "key", prompt });
    return typeof pressed === "object" ? pressed.text : pressed;
  }

  press(key: Key): void {
    if (this.#prompt.kind === "key" && this.#waiting !== undefined) this.#decide(key);
    else this.#edit(key);
    this.#options.onChange();
  }

  /** The terminal was closed. */
  end(): void {
    this.#isEnded = true;
    this.#answer(undefined);
  }

  /** Takes the oldest message that was typed ahead. */
  takeQueued(): string | undefined {
    const [first, ...rest] = this.#queue;
    this.#queue = rest;
    return first;
  }

  /** Puts messages that were typed ahead back into the input, for the user to decide about. */
  returnQueue(): void {
    if (this.#queue.length === 0) return;
    const { text } = this.editor;
    this.editor.text = [...this.#queue, ...(text === "" ? [] : [text])].join("\n");
    this.#queue = [];
  }

  /** Adds a message to the history. */
  remember(text: string): void {
    this.editor.remember(text);
    this.#options.history.add(text);
  }

  async #wait(prompt: Prompt): Promise<LineInput> {
    if (this.#isEnded) return undefined;
    const { promise, resolve } = Promise.withResolvers<LineInput>();
    this.#prompt = prompt;
    this.#promptedAt = Date.now();
    this.#waiting = resolve;
    this.#options.onChange();
    const input = await promise;
    this.#prompt = this.#options.idle;
    return input;
  }

  #answer(input: LineInput): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.(input);
  }

  /** A key while a decision is asked for. */
  #decide(key: Key): void {
    if (key.kind === "key") {
      if (GENERAL_KEYS.has(key.name)) this.#edit(key);
      return;
    }
    const isGuarded = Date.now() - this.#promptedAt < GUARD_MS;
    if (!isGuarded && key.kind === "text") return this.#answer({ text: key.text });
    this.editor.press(key);
    this.#answer("escape");
  }

  #edit(key: Key): void {
    const action = this.editor.press(key);
    switch (action?.kind) {
      case "submit":
        return this.#submit(action.text);
      case "interrupt":
        return this.#interrupt();
      case "leave":
        return this.#answer(undefined);
      case "clear-screen":
        return this.#options.onClearScreen();
      case "complete":
        return this.#complete();
      case "escape":
        return this.#answer("escape");
      default:
        return undefined;
    }
  }

  #submit(text: string): void {
    if (this.#waiting !== undefined) return this.#answer({ text });
    if (text.trim() !== "") this.#queue = [...this.#queue, text];
  }

  /** At a prompt Ctrl+C first clears what was typed. */
  #interrupt(): void {
    if (this.#waiting !== undefined && this.editor.text !== "") this.editor.clear();
    else this.#options.onInterrupt();
  }

  #complete(): void {
    const names = matches(this.editor.text, this.#options.commands).map(({ name }) => name);
    const [first = ""] = names;
    if (names.length === 1) this.editor.text = `${first} `;
    else if (names.length > 1) this.editor.text = commonStart(names);
  }
}

function commonStart(names: readonly string[]): string {
  const [first = ""] = names;
  let length = first.length;
  while (!names.every((name) => name.startsWith(first.slice(0, length)))) length -= 1;
  return first.slice(0, length);
}
