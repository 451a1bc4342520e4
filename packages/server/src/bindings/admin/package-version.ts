import { readFileSync } from "node:fs";

let version: string | undefined;

/** The version of the server. Works from `src` and from `dist`, which have the same depth. */
export function packageVersion(): string {
  const file = new URL("../../../package.json", import.meta.url);
  version ??= (JSON.parse(readFileSync(file, "utf8")) as { readonly version: string }).version;
  return version;
}
