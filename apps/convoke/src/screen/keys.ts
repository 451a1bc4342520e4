/** A key, or text that was typed or pasted. */
export type Key =
  | { readonly kind: "text"; readonly text: string }
  /** Text between the marks of bracketed paste: line breaks in it do not submit anything. */
  | { readonly kind: "paste"; readonly text: string }
  | { readonly kind: "key"; readonly name: KeyName };

export type KeyName =
  | "enter"
  | "newline"
  | "tab"
  | "escape"
  | "backspace"
  | "delete"
  | "up"
  | "down"
  | "left"
  | "right"
  | "home"
  | "end"
  | "word-left"
  | "word-right"
  | "delete-word"
  | "delete-next-word"
  | "delete-line"
  | "delete-rest"
  | "yank"
  | "interrupt"
  | "end-of-input"
  | "clear-screen"
  | "ignored";

/** Sequences after ESC. Terminals differ, so most keys have several. */
const SEQUENCES: Readonly<Record<string, KeyName>> = {
  "[A": "up",
  "[B": "down",
  "[C": "right",
  "[D": "left",
  "[H": "home",
  "[F": "end",
  OA: "up",
  OB: "down",
  OC: "right",
  OD: "left",
  OH: "home",
  OF: "end",
  "[1~": "home",
  "[7~": "home",
  "[4~": "end",
  "[8~": "end",
  "[3~": "delete",
  "[1;5C": "word-right",
  "[1;3C": "word-right",
  "[1;5D": "word-left",
  "[1;3D": "word-left",
  "[3;5~": "delete-next-word",
  // Shift+Enter, from terminals that report modifiers.
  "[13;2u": "newline",
  "[27;2;13~": "newline",
  "\r": "newline",
  "\n": "newline",
  b: "word-left",
  f: "word-right",
  d: "delete-next-word",
  "\u007F": "delete-word",
  "\b": "delete-word",
};

const CONTROLS: Readonly<Record<string, KeyName>> = {
  "\r": "enter",
  "\n": "newline",
  "\t": "tab",
  "\u007F": "backspace",
  "\b": "backspace",
  "\u0001": "home",
  "\u0002": "left",
  "\u0003": "interrupt",
  "\u0004": "end-of-input",
  "\u0005": "end",
  "\u0006": "right",
  "\u000B": "delete-rest",
  "\u000C": "clear-screen",
  "\u000E": "down",
  "\u0010": "up",
  "\u0015": "delete-line",
  "\u0017": "delete-word",
  "\u0019": "yank",
};

const PASTE_START = "\u001B[200~";
const PASTE_END = "\u001B[201~";

const ESC = "\u001B";

const CONTROL = /\p{Cc}/u;

/** A whole sequence after ESC: CSI, SS3, or one character with Alt. */
const SEQUENCE = /^(?:\[[0-9;?<>=]*[@-~]|O[@-~]|[^[O])/u;

/** The start of a sequence whose rest has not arrived yet. */
const INCOMPLETE = /^(?:\[[0-9;?<>=]*|O)?$/;

/** Turns what a terminal sends into keys. Sequences may arrive in pieces. */
export class KeyDecoder {
  #buffer = "";

  /** Whether the buffer holds an ESC that may be a key of its own; `flush` decides that it is. */
  get isPending(): boolean {
    return this.#buffer !== "" && !this.#buffer.startsWith(PASTE_START);
  }

  feed(input: string): readonly Key[] {
    this.#buffer += input;
    const keys: Key[] = [];
    while (this.#buffer !== "") {
      const taken = this.#take();
      if (taken === undefined) break;
      keys.push(taken);
    }
    return keys;
  }

  /** Nothing followed the ESC: it was the Escape key. */
  flush(): readonly Key[] {
    if (!this.isPending) return [];
    this.#buffer = "";
    return [{ kind: "key", name: "escape" }];
  }

  /** The next key, or `undefined` if the rest of it is still missing. */
  #take(): Key | undefined {
    const buffer = this.#buffer;
    if (buffer.startsWith(PASTE_START)) return this.#paste();
    if (!buffer.startsWith(ESC)) return this.#plain();
    const after = buffer.slice(1);
    if (INCOMPLETE.test(after)) return undefined;
    const sequence = after.startsWith(ESC) ? "" : (SEQUENCE.exec(after)?.[0] ?? "");
    this.#buffer = after.slice(sequence.length);
    if (sequence === "") return { kind: "key", name: "escape" };
    return { kind: "key", name: SEQUENCES[sequence] ?? "ignored" };
  }

  #paste(): Key | undefined {
    const end = this.#buffer.indexOf(PASTE_END);
    if (end === -1) return undefined;
    const text = this.#buffer.slice(PASTE_START.length, end);
    this.#buffer = this.#buffer.slice(end + PASTE_END.length);
    return { kind: "paste", text: text.replaceAll(/\r\n?/g, "\n") };
  }

  #plain(): Key {
    const first = this.#buffer.charAt(0);
    if (CONTROL.test(first)) {
      this.#buffer = this.#buffer.slice(1);
      return { kind: "key", name: CONTROLS[first] ?? "ignored" };
    }
    const end = this.#buffer.search(CONTROL);
    const text = end === -1 ? this.#buffer : this.#buffer.slice(0, end);
    this.#buffer = this.#buffer.slice(text.length);
    return { kind: "text", text };
  }
}
