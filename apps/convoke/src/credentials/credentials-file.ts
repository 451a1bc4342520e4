import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { objectField, textField } from "../terminal/json-fields.ts";
import { quoted } from "../terminal/command-line.ts";
import { type CommandIo, UsageError } from "../terminal/command.ts";

/** The permission bits of group and others. */
const OTHERS = 0o077;

/** Tokens by origin. A file that others can read is not used. */
export class CredentialsFile {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  tokenFor(origin: string): string | undefined {
    return this.#read().get(origin);
  }

  origins(): readonly string[] {
    return [...this.#read().keys()].toSorted();
  }

  store(origin: string, token: string): void {
    this.#write(this.#read().set(origin, token));
  }

  /** Returns whether there was a token. */
  remove(origin: string): boolean {
    const tokens = this.#read();
    const wasThere = tokens.delete(origin);
    if (wasThere) this.#write(tokens);
    return wasThere;
  }

  #read(): Map<string, string> {
    const text = this.#text();
    if (text === undefined) return new Map();
    const origins = objectField(this.#parsed(text), "origins");
    const names = Object.keys(origins);
    return new Map(names.map((name) => [name, textField(objectField(origins, name), "token")]));
  }

  #text(): string | undefined {
    let file: number;
    try {
      file = openSync(this.path, "r");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw this.#problem("cannot be read", error);
    }
    try {
      // Check the open file, not the path: the path may be renamed in between.
      this.#refuseUnlessOwn(fstatSync(file));
      return readFileSync(file, "utf8");
    } finally {
      closeSync(file);
    }
  }

  #refuseUnlessOwn({ mode, uid }: { readonly mode: number; readonly uid: number }): void {
    // Windows has no such modes; user profiles are private there.
    if (process.platform === "win32") return;
    if (uid !== process.getuid?.()) {
      throw new UsageError(
        `${this.path} belongs to another user, so it is not used. Remove it, or set XDG_CONFIG_HOME to your own folder.`,
      );
    }
    if ((mode & OTHERS) === 0) return;
    throw new UsageError(
      `Other users can read ${this.path}, so it is not used. Make it private with "chmod 600 ${quoted(this.path)}" and try again.`,
    );
  }

  #parsed(text: string): unknown {
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      throw this.#problem("is not JSON; repair it, or remove it and log in again", error);
    }
  }

  /** Writes a new file and renames it, so that a crash never leaves half a file. */
  #write(tokens: ReadonlyMap<string, string>): void {
    const entries = [...tokens].map(([origin, token]) => [origin, { token }] as const);
    const text = `${JSON.stringify({ origins: Object.fromEntries(entries) }, undefined, 2)}\n`;
    const draft = `${this.path}.${process.pid}.new`;
    try {
      mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
      const file = openSync(draft, "wx", 0o600);
      try {
        writeFileSync(file, text);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      renameSync(draft, this.path);
    } catch (error) {
      rmSync(draft, { force: true });
      throw this.#problem("cannot be written", error);
    }
  }

  #problem(what: string, cause: unknown): UsageError {
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === undefined ? "" : ` (${code})`;
    return new UsageError(`${this.path} ${what}${why}.`);
  }
}

/** The credentials file for writing; throws if there is no place for it. */
export function openCredentials(env: CommandIo["env"]): CredentialsFile {
  const path = credentialsPath(env);
  if (path !== undefined) return new CredentialsFile(path);
  throw new UsageError("There is no place to store credentials: set HOME or XDG_CONFIG_HOME.");
}

/** The path of the tokens, by the XDG base directories; `undefined` without a home directory. */
export function credentialsPath(env: CommandIo["env"]): string | undefined {
  const { XDG_CONFIG_HOME: config = "", HOME: home = env["USERPROFILE"] ?? "" } = env;
  // The XDG specification says to ignore relative paths.
  if (isAbsolute(config)) return join(config, "convoke", "credentials.json");
  return isAbsolute(home) ? join(home, ".config", "convoke", "credentials.json") : undefined;
}
