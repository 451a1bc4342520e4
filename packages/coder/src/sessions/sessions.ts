import { A2AError } from "@convoke/protocol";
import { sha256 } from "../storage/blobs.ts";
import { type SessionKey, keyName, keyText } from "../storage/session-key.ts";
import type { Texts } from "../storage/texts.ts";
import { NO_USAGE, type Session } from "./session.ts";

/** The sessions of which the latest read is kept in memory. */
const MAX_IN_MEMORY = 1000;

const MAX_TITLE = 80;

/** More hidden messages than a conversation remembers: only its latest 50 tasks reach the model. */
const MAX_HIDDEN = 5000;

/** What a new session needs. */
export type NewSession = Pick<Session, "contextId" | "owner" | "root" | "title"> & Partial<Session>;

/** The sessions of an agent, one text each. */
export class Sessions {
  readonly #textsOf: (owner: string) => Texts;
  readonly #known = new Map<string, Session>();

  /** @param textsOf where the sessions of a caller are. Those of others may be there, too. */
  constructor(textsOf: (owner: string) => Texts) {
    this.#textsOf = textsOf;
  }

  /** A session that was opened before in this process, as it was then. */
  known(key: SessionKey): Session | undefined {
    return this.#known.get(keyText(key));
  }

  /** The caller's session of a context, or undefined if there is none. */
  async find(key: SessionKey): Promise<Session | undefined> {
    const text = await this.#textsOf(key.owner).read(keyName(key));
    const session = text === undefined ? await this.#findEarlier(key) : parse(text);
    return session && this.#remember(session);
  }

  /** Creates the session of a context, unless there is one. */
  async create(given: NewSession): Promise<Session> {
    const found = await this.find(given);
    if (found !== undefined) return found;
    const now = new Date().toISOString();
    const title = given.title.replaceAll(/\s+/g, " ").trim().slice(0, MAX_TITLE);
    const fresh = { createdAt: now, updatedAt: now, usage: NO_USAGE, hidden: [] };
    return this.#update(given, (session) => session ?? { ...fresh, ...given, title });
  }

  /** Changes the session of a context as it is now. */
  async change(key: SessionKey, change: (session: Session) => Partial<Session>): Promise<Session> {
    return this.#update(key, (session) => {
      if (session === undefined) throw noSession(key);
      return { ...session, ...change(session), updatedAt: new Date().toISOString() };
    });
  }

  /** The sessions of a caller, the newest first. */
  async list(owner: string): Promise<readonly Session[]> {
    const texts = await this.#textsOf(owner).list();
    return texts
      .map(parse)
      .filter((session) => session.owner === owner)
      .toSorted((one, other) => other.updatedAt.localeCompare(one.updatedAt));
  }

  /** Forgets a session. Its tasks stay as long as the server keeps them. */
  async delete(key: SessionKey): Promise<void> {
    if ((await this.find(key)) === undefined) throw noSession(key);
    this.#known.delete(keyText(key));
    await this.#textsOf(key.owner).update(keyName(key), () => undefined);
  }

  async #update(
    key: SessionKey,
    change: (session: Session | undefined) => Session,
  ): Promise<Session> {
    const text = await this.#textsOf(key.owner).update(keyName(key), (stored) => {
      const session = change(stored === undefined ? undefined : parse(stored));
      return JSON.stringify({ ...session, hidden: session.hidden.slice(-MAX_HIDDEN) });
    });
    return this.#remember(parse(text!));
  }

  #remember(session: Session): Session {
    const key = keyText(session);
    this.#known.delete(key);
    this.#known.set(key, session);
    if (this.#known.size > MAX_IN_MEMORY) this.#known.delete(this.#known.keys().next().value!);
    return session;
  }

  /** Earlier versions named a session by the contextId alone. Its owner keeps the session. */
  async #findEarlier(key: SessionKey): Promise<Session | undefined> {
    const texts = this.#textsOf(key.owner);
    const name = sha256(Buffer.from(key.contextId));
    const text = await texts.read(name);
    if (text === undefined || parse(text).owner !== key.owner) return undefined;
    const moved = await texts.update(keyName(key), (stored) => stored ?? text);
    await texts.update(name, () => undefined);
    return parse(moved!);
  }
}

function parse(text: string): Session {
  return JSON.parse(text) as Session;
}

function noSession({ contextId }: SessionKey): A2AError {
  return new A2AError("InvalidParams", `there is no session ${JSON.stringify(contextId)}`);
}
