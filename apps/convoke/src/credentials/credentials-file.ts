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

/** The bits of a mode that are about anybody but the owner. */
const OTHERS = 0o077;

/** Tokens by the origin that each is for. The file is its owner's alone, or it is not used. */
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

  /** Whether there was one. */
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
      // What is looked at and what is read are the same file, whoever renames what meanwhile.
      this.#refuseUnlessOwn(fstatSync(file));
      return readFileSync(file, "utf8");
    } finally {
      closeSync(file);
    }
  }

  #refuseUnlessOwn({ mode, uid }: { readonly mode: number; readonly uid: number }): void {
    // Windows has no such modes; a profile there is its user's alone.
    if (process.platform === "win32") return;
    if (uid !== process.getuid?.()) {
      throw new UsageError(
        `${this.path} belongs to somebody else, so it is not used. Remove it, or set XDG_CONFIG_HOME to a folder of yours.`,
      );
    }
    if ((mode & OTHERS) === 0) return;
    throw new UsageError(
      `Others may read ${this.path}, so it is not used. Make it yours alone with "chmod 600 ${quoted(this.path)}" and try again.`,
    );
  }

  #parsed(text: string): unknown {
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      throw this.#problem("is not JSON; repair it, or remove it and log in again", error);
    }
  }

  /** A crash leaves the old file or the new one, never half of one. */
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

/** The file for somebody who wants to change it, so there must be a place for it. */
export function openCredentials(env: CommandIo["env"]): CredentialsFile {
  const path = credentialsPath(env);
  if (path !== undefined) return new CredentialsFile(path);
  throw new UsageError(
    "There is no place for credentials: set HOME, or XDG_CONFIG_HOME to a folder.",
  );
}

/** Where tokens are kept, by the XDG base directories; nowhere for somebody without a home. */
export function credentialsPath(env: CommandIo["env"]): string | undefined {
  const { XDG_CONFIG_HOME: config = "", HOME: home = env["USERPROFILE"] ?? "" } = env;
  // The specification has relative paths ignored: they would mean another file in every folder.
  if (isAbsolute(config)) return join(config, "convoke", "credentials.json");
  return isAbsolute(home) ? join(home, ".config", "convoke", "credentials.json") : undefined;
}
