import type { Auth } from "@convoke/client";

/** Long enough to be found wherever it turns up. */
export const SECRET = "s3cr3t-0123456789";

/** Every way to say who is calling. */
export const KINDS: readonly (readonly [string, Auth])[] = [
  ["a bearer token", { bearer: SECRET }],
  ["a token from a function", { token: async () => SECRET }],
  ["a key in a header", { apiKey: { in: "header", name: "X-Api-Key", value: SECRET } }],
  ["a key in the query", { apiKey: { in: "query", name: "key", value: SECRET } }],
  ["a key in a cookie", { apiKey: { in: "cookie", name: "session", value: SECRET } }],
  ["a name and a password", { basic: { user: "ann", password: SECRET } }],
  ["headers of one's own", { headers: { "X-Signed-By": SECRET } }],
];

const BASIC = btoa(`ann:${SECRET}`);

/** Whether the text holds the secret, as it is or as it travels. */
export function tells(text: string): boolean {
  return text.includes(SECRET) || text.includes(BASIC);
}
