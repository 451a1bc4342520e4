import { existsSync, readFileSync } from "node:fs";

let version: string | undefined;

/**
 * The version of Convoke, which all of its packages have in common. Works from `src` and from `dist`,
 * which have the same depth; `unknown` in a bundle, which has no such file.
 */
export function packageVersion(): string {
  const file = new URL("../package.json", import.meta.url);
  return (version ??= existsSync(file) ? readVersion(file) : "unknown");
}

function readVersion(file: URL): string {
  return (JSON.parse(readFileSync(file, "utf8")) as { readonly version: string }).version;
}
