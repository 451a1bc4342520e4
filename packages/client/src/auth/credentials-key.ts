import type { Auth } from "./auth.ts";

const FUNCTIONS = new WeakMap<object, number>();
let count = 0;

/** Tells callers apart, so that one never sees what was shown to another. It stays in memory. */
export function credentialsKey(auth: Auth | undefined, token: string | undefined): string {
  if (auth === undefined) return token === undefined ? "nobody" : JSON.stringify({ bearer: token });
  if (!("token" in auth)) return JSON.stringify(auth);
  const known = FUNCTIONS.get(auth.token) ?? (count += 1);
  FUNCTIONS.set(auth.token, known);
  return `function ${known} ${JSON.stringify(auth.origin)}`;
}
