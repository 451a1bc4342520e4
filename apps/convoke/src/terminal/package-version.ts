import { readFileSync } from "node:fs";

/** The version of the package. Works from `src` and from `dist`, which have the same depth. */
export function packageVersion(): string {
  const file = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
