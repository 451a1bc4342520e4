import { A2AError } from "@convoke/protocol";
import { mkdir, readFile, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile, sha256 } from "../storage/blobs.ts";
import { type SessionKey, keyFile, keyText } from "../storage/session-key.ts";
import { InOrder } from "../workspace/in-order.ts";
import { errorCode } from "../workspace/workspace-error.ts";
import { NO_USAGE, type Session } from "./session.ts";

/** The sessions that are kept in memory; the others are read again when they are needed. */
const MAX_IN_MEMORY = 1000;

const MAX_TITLE = 80;

/** More hidden messages than a conversation remembers: only its latest 50 tasks reach the model. */
const MAX_HIDDEN = 5000;

/** What a new session needs. */
export type NewSession = Pick<Session, "contextId" | "owner" | "root" | "title"> & Partial<Session>;

/** The sessions of an agent, one file each. */
export class Sessions {
  readonly #folder: string;
  readonly #known = new Map<string, Session>();
  readonly #order = new InOrder();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** A session that was opened before in this process. */
  known(key: SessionKey): Session | undefined {
    return this.#known.get(keyText(key));
  }

  /** The caller's session of a context, or undefined if there is none. */
  async find(key: SessionKey): Promise<Session | undefined> {
    const session =
      this.known(key) ?? (await this.#load(this.#fileOf(key))) ?? (await this.#loadEarlier(key));
    return session && this.#remember(session);
  }

  /** Creates the session of a context, unless there is one. */
  async create(given: NewSession): Promise<Session> {
    return this.#order.run(async () => {
      const found = await this.find(given);
      if (found !== undefined) return found;
      const now = new Date().toISOString();
      const title = given.title.replaceAll(/\s+/g, " ").trim().slice(0, MAX_TITLE);
      const fresh = { createdAt: now, updatedAt: now, usage: NO_USAGE, hidden: [] };
      return this.#store({ ...fresh, ...given, title });
    });
  }

  /** Changes the session of a context as it is now. */
  async change(key: SessionKey, change: (session: Session) => Partial<Session>): Promise<Session> {
    return this.#order.run(async () => {
      const session = await this.find(key);
      if (session === undefined) throw noSession(key);
      return this.#store({
        ...session,
        ...change(session),
        updatedAt: new Date().toISOString(),
      });
    });
  }

  /** The sessions of a caller, the newest first. */
  async list(owner: string): Promise<readonly Session[]> {
    const files = await readdir(this.#folder).catch(() => []);
    const all = await Promise.all(
      files
        .filter((file) => file.endsWith(".json"))
        .map((file) => this.#load(join(this.#folder, file))),
    );
    return all
      .filter((session) => session?.owner === owner)
      .map((session) => session!)
      .toSorted((one, other) => other.updatedAt.localeCompare(one.updatedAt));
  }

  /** Forgets a session. Its tasks stay as long as the server keeps them. */
  async delete(key: SessionKey): Promise<void> {
    return this.#order.run(async () => {
      if ((await this.find(key)) === undefined) throw noSession(key);
      this.#known.delete(keyText(key));
      await rm(this.#fileOf(key), { force: true });
    });
  }

  async #store(given: Session): Promise<Session> {
    const session = { ...given, hidden: given.hidden.slice(-MAX_HIDDEN) };
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await replaceFile(this.#fileOf(session), JSON.stringify(session));
    return this.#remember(session);
  }

  #remember(session: Session): Session {
    const key = keyText(session);
    this.#known.delete(key);
    this.#known.set(key, session);
    if (this.#known.size > MAX_IN_MEMORY) this.#known.delete(this.#known.keys().next().value!);
    return session;
  }

  async #load(file: string): Promise<Session | undefined> {
    try {
      return JSON.parse(await readFile(file, "utf8")) as Session;
    } catch (error) {
      if (errorCode(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  /** Earlier versions named the file by the contextId alone. Its owner keeps the session. */
  async #loadEarlier(key: SessionKey): Promise<Session | undefined> {
    const file = join(this.#folder, `${sha256(Buffer.from(key.contextId))}.json`);
    const session = await this.#load(file);
    if (session?.owner !== key.owner) return undefined;
    // Two calls may look for it at the same time.
    await rename(file, this.#fileOf(key)).catch(() => undefined);
    return session;
  }

  #fileOf(key: SessionKey): string {
    return join(this.#folder, keyFile(key));
  }
}

function noSession({ contextId }: SessionKey): A2AError {
  return new A2AError("InvalidParams", `there is no session ${JSON.stringify(contextId)}`);
}
