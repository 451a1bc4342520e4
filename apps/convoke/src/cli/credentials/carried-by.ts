import type { Auth } from "@convoke/client";

/** Credentials as a request carries them. */
export interface Carried {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

/** The credentials that the command line knows; tokens that are fetched are not among them. */
export type CommandAuth = Exclude<Auth, { readonly token: unknown }>;

export function carriedBy(auth: CommandAuth | undefined): Carried {
  if (auth === undefined) return { headers: {}, query: {} };
  if ("headers" in auth) return { headers: auth.headers, query: {} };
  if ("bearer" in auth) return inHeader("Authorization", `Bearer ${auth.bearer}`);
  if ("basic" in auth) {
    const { user, password } = auth.basic;
    const encoded = Buffer.from(`${user}:${password}`).toString("base64");
    return inHeader("Authorization", `Basic ${encoded}`);
  }
  const { name, value, in: place } = auth.apiKey;
  if (place === "query") return { headers: {}, query: { [name]: value } };
  return place === "header" ? inHeader(name, value) : inHeader("Cookie", `${name}=${value}`);
}

function inHeader(name: string, value: string): Carried {
  return { headers: { [name]: value }, query: {} };
}
