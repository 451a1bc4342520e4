import { createHash, randomBytes } from "node:crypto";
import { mkdir, readFile, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Contents by their SHA-256. A content that is stored twice takes space once. */
export class Blobs {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Stores a content and returns its hash. A crash leaves either all of it or nothing. */
  async put(bytes: Uint8Array): Promise<string> {
    const hash = sha256(bytes);
    const file = this.#fileOf(hash);
    if (await exists(file)) return hash;
    await mkdir(join(file, ".."), { recursive: true, mode: 0o700 });
    await replaceFile(file, bytes);
    return hash;
  }

  /** Throws if the content is missing or damaged. */
  async get(hash: string): Promise<Buffer> {
    const bytes = await readFile(this.#fileOf(hash));
    if (sha256(bytes) !== hash) throw new Error(`the stored content ${hash} is damaged`);
    return bytes;
  }

  has(hash: string): Promise<boolean> {
    return exists(this.#fileOf(hash));
  }

  /** Deletes every content that is not in use. */
  async sweep(used: ReadonlySet<string>): Promise<void> {
    for (const prefix of await readdir(this.#folder).catch(() => [])) {
      for (const rest of await readdir(join(this.#folder, prefix))) {
        if (!used.has(prefix + rest)) await rm(join(this.#folder, prefix, rest), { force: true });
      }
    }
  }

  #fileOf(hash: string): string {
    if (!/^[0-9a-f]{64}$/.test(hash)) throw new Error(`${JSON.stringify(hash)} is not a hash`);
    return join(this.#folder, hash.slice(0, 2), hash.slice(2));
  }
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Writes a file of the store so that a crash leaves the old or the new one. Only the owner may read it. */
export async function replaceFile(file: string, content: Uint8Array | string): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString("hex")}`;
  await writeFile(temporary, content, { mode: 0o600 });
  await rename(temporary, file);
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
