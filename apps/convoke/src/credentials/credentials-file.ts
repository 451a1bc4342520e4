import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import type { ApiKey, StoredToken, TokenStore } from "@convoke/client";
import { isObject, sleep } from "@convoke/protocol/internal";
import { objectField } from "../terminal/json-fields.ts";
import { quoted } from "../terminal/command-line.ts";
import { type CommandIo, UsageError } from "../terminal/command.ts";

/** The permission bits of group and others. */
const OTHERS = 0o077;

/** How a person signed in to an agent or an MCP server, and the tokens. */
export interface StoredSignIn {
  readonly issuer: string;
  /** Absent if the program registered itself. */
  readonly clientId?: string;
  /** Absent if the tokens are for no particular resource. */
  readonly resource?: string;
  readonly scopes: readonly string[];
  readonly tokens: Readonly<Record<string, StoredToken>>;
}

/** What is stored for one origin. */
export type StoredCredentials =
  | { readonly token: string }
  | { readonly apiKey: ApiKey }
  | { readonly signIn: StoredSignIn };

/** Credentials by origin. A file that others can read is not used. */
export class CredentialsFile {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  find(origin: string): StoredCredentials | undefined {
    return this.#read().get(origin);
  }

  origins(): readonly string[] {
    return [...this.#read().keys()].toSorted();
  }

  store(origin: string, credentials: StoredCredentials): void {
    this.#write(this.#read().set(origin, credentials));
  }

  /** Returns whether there was something. */
  remove(origin: string): boolean {
    const all = this.#read();
    const wasThere = all.delete(origin);
    if (wasThere) this.#write(all);
    return wasThere;
  }

  /** The tokens of the sign-in at an origin. After a logout it has none, and keeps none. */
  tokensFor(origin: string): TokenStore {
    const signIn = (): StoredSignIn | undefined => {
      const found = this.find(origin);
      return found !== undefined && "signIn" in found ? found.signIn : undefined;
    };
    const change = (key: string, token: StoredToken | undefined): void => {
      const current = signIn();
      if (current === undefined) return;
      const { [key]: _, ...others } = current.tokens;
      const tokens = token === undefined ? others : { ...others, [key]: token };
      this.store(origin, { signIn: { ...current, tokens } });
    };
    return {
      get: async (key) => signIn()?.tokens[key],
      set: async (key, token) => change(key, token),
      delete: async (key) => change(key, undefined),
      exclusive: (work) => this.#locked(work),
    };
  }

  /** Runs the work while it holds a lock that all processes respect. */
  async #locked<T>(work: () => Promise<T>): Promise<T> {
    const lock = `${this.path}.lock`;
    while (!takeLock(lock)) await sleep(50);
    try {
      return await work();
    } finally {
      rmSync(lock, { force: true });
    }
  }

  #read(): Map<string, StoredCredentials> {
    const text = this.#text();
    if (text === undefined) return new Map();
    const origins = objectField(this.#parsed(text), "origins");
    const entries = Object.entries(origins).flatMap(([origin, value]) =>
      isStored(value) ? [[origin, value] as const] : [],
    );
    return new Map(entries);
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
  #write(all: ReadonlyMap<string, StoredCredentials>): void {
    const text = `${JSON.stringify({ origins: Object.fromEntries(all) }, undefined, 2)}\n`;
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

/** Longer than any refresh takes: the process that holds an older lock has died. */
const OLD_LOCK_MS = 60_000;

function takeLock(lock: string): boolean {
  try {
    closeSync(openSync(lock, "wx", 0o600));
    return true;
  } catch (error) {
    // Without a folder there is nothing to protect; any other problem is reported when a token is stored.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") return true;
  }
  const takenAt = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
  if (takenAt !== undefined && Date.now() - takenAt > OLD_LOCK_MS) rmSync(lock, { force: true });
  return false;
}

/** A person may have edited the file; what has another form counts as absent. */
function isStored(value: unknown): value is StoredCredentials {
  if (!isObject(value)) return false;
  const { token, apiKey, signIn } = value;
  return (typeof token === "string" && token !== "") || isObject(apiKey) || isObject(signIn);
}

/** The credentials file for writing; throws if there is no place for it. */
export function openCredentials(env: CommandIo["env"]): CredentialsFile {
  const path = credentialsPath(env);
  if (path !== undefined) return new CredentialsFile(path);
  throw new UsageError("There is no place to store credentials: set HOME or XDG_CONFIG_HOME.");
}

/** The path of the credentials, by the XDG base directories; `undefined` without a home directory. */
export function credentialsPath(env: CommandIo["env"]): string | undefined {
  const { XDG_CONFIG_HOME: config = "", HOME: home = env["USERPROFILE"] ?? "" } = env;
  // The XDG specification says to ignore relative paths.
  if (isAbsolute(config)) return join(config, "convoke", "credentials.json");
  return isAbsolute(home) ? join(home, ".config", "convoke", "credentials.json") : undefined;
}
