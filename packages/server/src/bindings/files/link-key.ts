import { randomBytes } from "node:crypto";
import { readFile, rm, link, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type OpenValues, updateValue } from "@convoke/protocol";

/** The file of the key in a data folder. */
const KEY_FILE = "files.key";

/**
 * The key that signs links to files. It is kept with the tasks, so that links are valid in every
 * process and after a restart. Without a storage it is as new as the process.
 */
export async function openLinkKey({
  folder,
  values,
}: {
  /** The data folder, if there is one. */
  readonly folder: string | undefined;
  /** The database, if servers share one. */
  readonly values: OpenValues | undefined;
}): Promise<Uint8Array> {
  if (values !== undefined) {
    const key = await updateValue(values("files"), "link-key", (known) => known ?? newKey());
    return Buffer.from(key!, "base64url");
  }
  if (folder === undefined) return randomBytes(KEY_BYTES);
  const path = join(folder, KEY_FILE);
  return (await readKey(path)) ?? createKey(path);
}

const KEY_BYTES = 32;

function newKey(): string {
  return randomBytes(KEY_BYTES).toString("base64url");
}

async function readKey(path: string): Promise<Uint8Array | undefined> {
  try {
    return Buffer.from((await readFile(path, "utf8")).trim(), "base64url");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Written and then linked, so that the file is complete as soon as it is there. */
async function createKey(path: string): Promise<Uint8Array> {
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  await writeFile(draft, `${newKey()}\n`, { mode: 0o600, flush: true });
  try {
    await link(draft, path);
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return (await readKey(path))!;
}
