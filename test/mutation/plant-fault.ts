import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Mutant } from "./mutants.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The file with its fault. One that the code has outgrown is an error that says so. */
export function mutated({ file, find, replace }: Mutant): string {
  const source = readFileSync(join(ROOT, file), "utf8");
  const parts = source.split(find);
  if (parts.length === 2) return parts.join(replace);
  throw new Error(
    `${file} has ${parts.length - 1} times, and not once: ${find}. Bring test/mutation/mutants.ts up to date.`,
  );
}
