import type { Auth } from "@convoke/client";

/** Long enough to be found anywhere. */
export const SECRET = "s3cr3t-0123456789";

/** All kinds of credentials. */
export const KINDS: readonly (readonly [string, Auth])[] = [
  ["a bearer token", { bearer: SECRET }],
  ["a token from a function", { token: async () => SECRET }],
  ["a key in a header", { apiKey: { in: "header", name: "X-Api-Key", value: SECRET } }],
  ["a key in the query", { apiKey: { in: "query", name: "key", value: SECRET } }],
  ["a key in a cookie", { apiKey: { in: "cookie", name: "session", value: SECRET } }],
  ["a user name and a password", { basic: { user: "ann", password: SECRET } }],
  ["custom headers", { headers: { "X-Signed-By": SECRET } }],
];

const BASIC = btoa(`ann:${SECRET}`);

/** Whether the text contains the secret, plain or encoded. */
export function tells(text: string): boolean {
  return text.includes(SECRET) || text.includes(BASIC);
}
