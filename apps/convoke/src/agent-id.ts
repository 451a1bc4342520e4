import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const FILE = "agent-id";
const ID = /^[0-9a-f-]{36}$/;

/**
 * What tells this agent from every other, also after a restart: its name, and a
 * mark that is kept with its tasks. Without a folder, which must exist, it is new each time.
 */
export async function agentId(name: string, folder: string | undefined): Promise<string> {
  if (folder === undefined) return `${name}/${randomUUID()}`;
  const file = join(folder, FILE);
  const kept = await readFile(file, "utf8").catch(() => "");
  if (ID.test(kept)) return `${name}/${kept}`;
  const mark = randomUUID();
  await writeFile(file, mark, { mode: 0o600 });
  return `${name}/${mark}`;
}
