import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile, sha256 } from "../storage/blobs.ts";
import { type SessionKey, keyName, keyText } from "../storage/session-key.ts";
import { InOrder } from "../workspace/in-order.ts";
import { errorCode } from "../workspace/workspace-error.ts";

/** The files of one conversation that are remembered. */
const MAX_FILES = 1000;

/** The conversations that are kept in memory. */
const MAX_CONVERSATIONS = 200;

/**
 * The contents that each conversation has seen, as hashes, so that a file that changed meanwhile is
 * not overwritten. They survive restarts, because an approval can wait for days.
 */
export class SeenFiles {
  readonly #folder: string;
  readonly #seen = new Map<string, Map<string, string>>();
  readonly #writes = new InOrder();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The hash of the content that the conversation has seen last. */
  async get(session: SessionKey, path: string): Promise<string | undefined> {
    return (await this.#of(session)).get(path);
  }

  /** Notes what the conversation has read or written; undefined forgets it. */
  async set(session: SessionKey, path: string, bytes: Uint8Array | undefined): Promise<void> {
    const seen = await this.#of(session);
    const hash = bytes && sha256(bytes);
    if (seen.get(path) === hash) return;
    seen.delete(path);
    if (hash !== undefined) seen.set(path, hash);
    if (seen.size > MAX_FILES) seen.delete(seen.keys().next().value!);
    await this.#writes.run(() => this.#store(session, seen));
  }

  async #of(session: SessionKey): Promise<Map<string, string>> {
    const key = keyText(session);
    const known = this.#seen.get(key) ?? (await this.#load(session));
    // Another call may have loaded it meanwhile.
    const seen = this.#seen.get(key) ?? known;
    this.#seen.delete(key);
    this.#seen.set(key, seen);
    if (this.#seen.size > MAX_CONVERSATIONS) this.#seen.delete(this.#seen.keys().next().value!);
    return seen;
  }

  async #load(session: SessionKey): Promise<Map<string, string>> {
    try {
      const text = await readFile(this.#fileOf(session), "utf8");
      return new Map(JSON.parse(text) as [string, string][]);
    } catch (error) {
      if (errorCode(error) === "ENOENT") return new Map();
      throw error;
    }
  }

  async #store(session: SessionKey, seen: ReadonlyMap<string, string>): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await replaceFile(this.#fileOf(session), JSON.stringify([...seen]));
  }

  #fileOf(session: SessionKey): string {
    return join(this.#folder, `${keyName(session)}.json`);
  }
}
