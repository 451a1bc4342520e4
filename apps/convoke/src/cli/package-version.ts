import { readFileSync } from "node:fs";

/** The version of the package, from the sources and from `dist` alike: both are two folders below it. */
export function packageVersion(): string {
  const file = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
