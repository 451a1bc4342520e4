import { childEnvironment } from "@convoke/runtime/processes";
import { isAbsolute } from "node:path";

/** Names of variables that probably hold a secret. */
const SECRET = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|PRIVATE|SESSION|SIGNATURE|DSN|_URL$/i;

/** Programs must not wait for a person, and pagers must not wait for a key. */
const QUIET = { PAGER: "cat", GIT_PAGER: "cat", GIT_TERMINAL_PROMPT: "0" };

/**
 * The environment of a command: what programs need to run at all, and the variables that the
 * operator lists. A name that ends with `*` passes all that start with it, except those that look
 * like secrets; a full name passes even those.
 */
export function shellEnvironment(
  passed: readonly string[],
  ours: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const isPassed = (name: string): boolean =>
    passed.includes(name) ||
    (!SECRET.test(name) &&
      passed.some((one) => one.endsWith("*") && name.startsWith(one.slice(0, -1))));
  const chosen = Object.entries(ours).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && isPassed(entry[0]),
  );
  const environment = childEnvironment({ ...QUIET, ...Object.fromEntries(chosen) }, ours);
  return { ...environment, PATH: absoluteOnly(environment["PATH"] ?? "/usr/bin:/bin") };
}

/** With a relative folder in the PATH, the workspace could replace any program. */
function absoluteOnly(path: string): string {
  return path.split(":").filter(isAbsolute).join(":");
}
