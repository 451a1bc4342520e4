import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** To whom a session belongs. The same context of another owner is another session. */
export interface SessionOwner {
  readonly owner: string;
  readonly contextId: string;
}

/** The name of a session in files: it tells nothing of its owner. */
export function sessionKey({ owner, contextId }: SessionOwner): string {
  return createHash("sha256")
    .update(JSON.stringify([owner, contextId]))
    .digest("hex")
    .slice(0, 32);
}

/**
 * Remembers by which id a program can load the session of a conversation. With a folder, also after
 * a restart.
 */
export class StoredSessions {
  readonly #folder: string | undefined;
  readonly #known = new Map<string, string>();

  constructor(folder: string | undefined) {
    this.#folder = folder && join(folder, "program-sessions");
  }

  find(key: string): string | undefined {
    return this.#known.get(key) ?? this.#read(key);
  }

  store(key: string, resumeId: string): void {
    if (this.find(key) === resumeId) return;
    this.#known.set(key, resumeId);
    if (this.#folder === undefined) return;
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const file = this.#fileOf(key);
    // Renamed, so that a crash leaves the old or the new file.
    writeFileSync(`${file}.new`, JSON.stringify({ resumeId }), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }

  delete(key: string): void {
    this.#known.delete(key);
    if (this.#folder !== undefined) rmSync(this.#fileOf(key), { force: true });
  }

  #fileOf(key: string): string {
    return join(this.#folder ?? "", `${key}.json`);
  }

  #read(key: string): string | undefined {
    if (this.#folder === undefined) return undefined;
    try {
      const text = readFileSync(this.#fileOf(key), "utf8");
      const { resumeId } = JSON.parse(text) as { readonly resumeId?: unknown };
      return typeof resumeId === "string" ? resumeId : undefined;
    } catch {
      return undefined;
    }
  }
}
