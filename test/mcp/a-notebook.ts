import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Where a server records what it did, for a test that observes it from outside. */
export async function aNotebook(): Promise<{
  readonly notes: string;
  readonly read: () => Promise<string>;
}> {
  const folder = await mkdtemp(join(tmpdir(), "mcp-notes-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const notes = join(folder, "notes");
  return { notes, read: () => readFile(notes, "utf8") };
}
