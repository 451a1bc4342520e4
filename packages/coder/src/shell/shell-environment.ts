import { childEnvironment } from "@convoke/runtime/processes";
import { isAbsolute } from "node:path";
import { isInside } from "../policy/path-glob.ts";

/** Names of variables that probably hold a secret. */
const SECRET = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|PRIVATE|SESSION|SIGNATURE|DSN|_URL$/i;

/** Names of variables that change what shells and programs do. */
const POWERFUL = /^(?:BASH|LD_|DYLD_|GIT_)|^(?:CDPATH|ENV|GLOBIGNORE|IFS|NODE_OPTIONS|SHELLOPTS)$/;

/** Programs must not wait for a person, and pagers must not wait for a key. */
const QUIET = { PAGER: "cat", GIT_PAGER: "cat", GIT_TERMINAL_PROMPT: "0" };

/**
 * The environment of a command: what programs need to run at all, and the variables that the
 * operator lists. A name that ends with `*` passes all that start with it, except those that look
 * like secrets or change what programs do; a full name passes even those.
 */
export function shellEnvironment(
  passed: readonly string[],
  roots: readonly string[],
  ours: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const isPassed = (name: string): boolean =>
    passed.includes(name) ||
    (!SECRET.test(name) &&
      !POWERFUL.test(name) &&
      passed.some((one) => one.endsWith("*") && name.startsWith(one.slice(0, -1))));
  const chosen = Object.entries(ours).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && isPassed(entry[0]),
  );
  const environment = childEnvironment({ ...QUIET, ...Object.fromEntries(chosen) }, ours);
  return { ...environment, PATH: safePath(environment["PATH"] ?? "/usr/bin:/bin", roots) };
}

/** A workspace must not replace programs, as it could with a folder of its own in the PATH. */
function safePath(path: string, roots: readonly string[]): string {
  const isSafe = (folder: string): boolean =>
    isAbsolute(folder) && !roots.some((root) => isInside(folder, root));
  return path.split(":").filter(isSafe).join(":");
}
