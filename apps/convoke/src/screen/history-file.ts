import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, isAbsolute, join } from "node:path";

/** Entries that are kept; the file is shortened to them when it has twice as many. */
const MOST_ENTRIES = 500;

const LONGEST_ENTRY = 10_000;

/**
 * What the user typed in earlier chats, one JSON string per line, readable by this user only. It is
 * a convenience: if the file cannot be read or written, the chat works without it.
 */
export class HistoryFile {
  readonly #path: string | undefined;

  /** Without a path nothing is stored. */
  constructor(path: string | undefined) {
    this.#path = path;
  }

  /** The entries, oldest first. */
  read(): readonly string[] {
    const path = this.#path;
    if (path === undefined) return [];
    return attempt(() => {
      const lines = readFileSync(path, "utf8").split("\n");
      const entries = lines.flatMap(parsed);
      if (lines.length > 2 * MOST_ENTRIES) this.#shorten(path, entries.slice(-MOST_ENTRIES));
      return entries.slice(-MOST_ENTRIES);
    }, []);
  }

  /** Adds an entry. A text that starts with a space is not stored, as in shells. */
  add(text: string): void {
    const path = this.#path;
    if (path === undefined || text.startsWith(" ") || text.length > LONGEST_ENTRY) return;
    attempt(() => {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      // One write per entry, so that chats at the same time do not mix their lines.
      appendFileSync(path, `${JSON.stringify(text)}\n`, { mode: 0o600 });
      chmodSync(path, 0o600);
    }, undefined);
  }

  #shorten(path: string, entries: readonly string[]): void {
    const draft = `${path}.${process.pid}.new`;
    try {
      const text = entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
      writeFileSync(draft, text, { mode: 0o600, flag: "wx" });
      renameSync(draft, path);
    } finally {
      rmSync(draft, { force: true });
    }
  }
}

/** The path of the history, by the XDG base directories; `undefined` without a home directory. */
export function historyPath(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const { XDG_STATE_HOME: state = "", HOME: home = env["USERPROFILE"] ?? "" } = env;
  // The XDG specification says to ignore relative paths.
  if (isAbsolute(state)) return join(state, "convoke", "chat-history.jsonl");
  return isAbsolute(home)
    ? join(home, ".local", "state", "convoke", "chat-history.jsonl")
    : undefined;
}

function parsed(line: string): readonly string[] {
  return attempt(() => {
    const entry: unknown = JSON.parse(line);
    return typeof entry === "string" ? [entry] : [];
  }, []);
}

function attempt<T>(work: () => T, otherwise: T): T {
  try {
    return work();
  } catch {
    return otherwise;
  }
}
