import { A2AError } from "@convoke/protocol";
import { mkdir, readFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile, sha256 } from "../checkpoints/blobs.ts";
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

  /** The session of a context that was opened before in this process. */
  known(contextId: string): Session | undefined {
    return this.#known.get(contextId);
  }

  /** The caller's session of a context, or undefined if there is none. */
  async find(contextId: string, owner: string): Promise<Session | undefined> {
    const session = this.#known.get(contextId) ?? (await this.#load(this.#fileOf(contextId)));
    if (session === undefined) return undefined;
    if (session.owner !== owner) {
      throw new A2AError(
        "InvalidParams",
        "contextId: it cannot be used; leave it out to start a new conversation",
      );
    }
    return this.#remember(session);
  }

  /** Creates the session of a context, unless there is one. */
  async create(given: NewSession): Promise<Session> {
    return this.#order.run(async () => {
      const found = await this.find(given.contextId, given.owner);
      if (found !== undefined) return found;
      const now = new Date().toISOString();
      const title = given.title.replaceAll(/\s+/g, " ").trim().slice(0, MAX_TITLE);
      const fresh = { createdAt: now, updatedAt: now, usage: NO_USAGE, hidden: [] };
      return this.#store({ ...fresh, ...given, title });
    });
  }

  /** Changes the session of a context as it is now. */
  async change(
    { contextId, owner }: Pick<Session, "contextId" | "owner">,
    change: (session: Session) => Partial<Session>,
  ): Promise<Session> {
    return this.#order.run(async () => {
      const session = await this.find(contextId, owner);
      if (session === undefined) throw noSession(contextId);
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
  async delete({ contextId, owner }: Pick<Session, "contextId" | "owner">): Promise<void> {
    return this.#order.run(async () => {
      if ((await this.find(contextId, owner)) === undefined) throw noSession(contextId);
      this.#known.delete(contextId);
      await rm(this.#fileOf(contextId), { force: true });
    });
  }

  async #store(given: Session): Promise<Session> {
    const session = { ...given, hidden: given.hidden.slice(-MAX_HIDDEN) };
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await replaceFile(this.#fileOf(session.contextId), JSON.stringify(session));
    return this.#remember(session);
  }

  #remember(session: Session): Session {
    this.#known.delete(session.contextId);
    this.#known.set(session.contextId, session);
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

  #fileOf(contextId: string): string {
    return join(this.#folder, `${sha256(Buffer.from(contextId))}.json`);
  }
}

function noSession(contextId: string): A2AError {
  return new A2AError("InvalidParams", `there is no session ${JSON.stringify(contextId)}`);
}
