import { writeFileSync } from "node:fs";
import { join } from "node:path";

const CONVOKE = new URL("../../apps/convoke/src/index.ts", import.meta.url).href;

/** Writes an agent into a folder without packages, and returns its path. */
export function writeAgent(folder: string, body: string, name = "agent.mts"): string {
  const file = join(folder, name);
  writeFileSync(file, `import { defineAgent } from ${JSON.stringify(CONVOKE)};\n${body}\n`);
  return file;
}
