/** The base path of the options, without a slash at its end; empty for the root. */
export function checkedBasePath(given = ""): string {
  const path = given.replace(/\/+$/, "");
  if (path === "" || /^(?:\/[\w.~!$&'()+,;=:@%-]+)+$/.test(path)) return path;
  throw new TypeError(
    `basePath must be a path from the root, as in "/agent", not ${JSON.stringify(given)}`,
  );
}

/**
 * The path from the agent's own root. Frameworks and proxies differ in whether
 * they take the base off, so it may be gone already.
 */
export function belowBase(path: string, basePath: string): string {
  if (basePath === "" || !path.startsWith(basePath)) return path;
  const below = path.slice(basePath.length);
  if (below === "") return "/";
  return below.startsWith("/") ? below : path;
}
