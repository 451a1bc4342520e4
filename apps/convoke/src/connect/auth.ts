import { type ApiKey, type Auth, isToken } from "@convoke/client";
import { OAuthTokens } from "@convoke/client/oauth";
import { createEgress } from "@convoke/egress";
import { readUrl } from "./agent-options.ts";
import { type CommandContext, UsageError } from "../terminal/command.ts";
import { askSecret } from "../credentials/ask-secret.ts";
import { CredentialsFile, credentialsPath } from "../credentials/credentials-file.ts";
import { environmentAuth } from "../credentials/environment.ts";
import { storedSignIn } from "../credentials/stored-sign-in.ts";
import { didYouMean } from "../terminal/command-line.ts";

/** The kinds of credentials that the command line supports. */
export type CommandAuth = Exclude<Auth, { readonly token: unknown }>;

/**
 * The credentials of the caller: those of the flags, else those stored for the origin, else those
 * of the environment if they are for the origin. `--header` is added to them. The client sends them
 * only to the origin of the URL.
 */
export async function readAuth(context: CommandContext): Promise<CommandAuth | undefined> {
  const headers = readHeaders(context.texts("header"));
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  const flagged = await flaggedIdentity(context);
  const identity = flagged ?? (names.includes("authorization") ? undefined : kept(context));
  if (identity === undefined) return names.length === 0 ? undefined : { headers };
  if (names.length === 0) return identity;
  const carried = await toRequestParts(identity, readUrl(context));
  if (Object.keys(carried.query).length > 0) {
    throw new UsageError("--header cannot be combined with an --api-key in the query.");
  }
  const twice = Object.keys(carried.headers).find((name) => names.includes(name.toLowerCase()));
  if (twice === undefined) return { headers: { ...headers, ...carried.headers } };
  throw new UsageError(`--header ${twice} and another flag both give credentials; use only one.`);
}

const IDENTITIES = ["token", "api-key", "basic"] as const;

async function flaggedIdentity(context: CommandContext): Promise<CommandAuth | undefined> {
  const { text, io } = context;
  const given = IDENTITIES.filter((name) => text(name) !== undefined);
  if (given.length > 1) {
    const flags = given.map((name) => `--${name}`).join(" and ");
    throw new UsageError(`${flags} both give credentials; use only one.`);
  }
  const [token, apiKey, user] = IDENTITIES.map((name) => text(name));
  if (token !== undefined) return { bearer: checkToken(token, "--token") };
  if (apiKey !== undefined) return { apiKey: readApiKey(apiKey) };
  if (user === undefined) return undefined;
  if (user.includes(":") || user === "") {
    throw new UsageError("--basic takes only the user name; the password is prompted for.");
  }
  return { basic: { user, password: await askSecret(io, "password") } };
}

/** The stored credentials, or those of the environment. */
function kept(context: CommandContext): CommandAuth | undefined {
  const { env } = context.io;
  const url = readUrl(context);
  const { origin } = new URL(url);
  const path = credentialsPath(env);
  const stored = path && new CredentialsFile(path).find(origin);
  if (path && stored) {
    if ("signIn" in stored) return { oauth: storedSignIn(url, env) };
    return "apiKey" in stored ? stored : { bearer: checkToken(stored.token, path) };
  }
  const auth = environmentAuth(env, url);
  if (auth === undefined || "oauth" in auth) return auth;
  return { bearer: checkToken(auth.bearer, "CONVOKE_TOKEN") };
}

/** Rejects a token that cannot be sent in a header. Otherwise an error further down might print it. */
export function checkToken(token: string, place: string): string {
  if (isToken(token)) return token;
  throw new UsageError(`The token of ${place} contains invalid characters.`);
}

const PLACES = ["header", "query", "cookie"] as const satisfies readonly ApiKey["in"][];

/** Reads `--api-key name=value[:in]`. The value is a secret, so no error repeats it. */
function readApiKey(text: string): ApiKey {
  const [, name = "", rest = ""] = /^([^=\s]+)=(.+)$/s.exec(text) ?? [];
  if (name === "") throw new UsageError("--api-key must look like name=value or name=value:query.");
  const place = PLACES.find((word) => rest.endsWith(`:${word}`));
  const value = place === undefined ? rest : rest.slice(0, -place.length - 1);
  const last = /:([a-z]{4,7})$/i.exec(rest)?.[1] ?? "";
  const guess = place === undefined ? didYouMean(last, PLACES) : "";
  // A key may contain a colon, so only something similar to a place is treated as a typo.
  if (guess !== "")
    throw new UsageError(`--api-key must be sent as header, query or cookie.${guess}`);
  if (value === "") throw new UsageError(`--api-key ${name} has no value.`);
  if (place === undefined || place === "header") {
    const [, checked] = readHeader(`${name}: ${value}`);
    return { in: "header", name, value: checked };
  }
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) {
    throw new UsageError(
      `--api-key ${JSON.stringify(name)} cannot be the name of a ${place} parameter.`,
    );
  }
  // A comma, a semicolon or a blank would end a cookie (RFC 6265 §4.1.1).
  if (place === "query" || /^[!#-+\--:<-[\]-~]+$/.test(value)) return { in: place, name, value };
  throw new UsageError(`--api-key ${name} contains characters that are invalid in a cookie.`);
}

/** Headers that the client sets itself. */
const OWN =
  /^(?:a2a-.*|accept|connection|content-.*|expect|host|keep-alive|last-event-id|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i;

/** Reads `--header "Name: value"`. The value may be a secret, so no error repeats it. */
function readHeader(text: string): readonly [name: string, value: string] {
  const [, name = "", value = ""] = /^([^:\s]+):[ \t]*(.*?)[ \t]*$/s.exec(text) ?? [];
  if (name === "") throw new UsageError('--header must look like "Name: value".');
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) {
    throw new UsageError(
      `--header ${JSON.stringify(name)} contains characters that are invalid in a header name.`,
    );
  }
  if (OWN.test(name))
    throw new UsageError(`--header ${name} is set by the client itself; remove it.`);
  if (/^[\u0020-\u007E\t]+$/.test(value)) return [name, value];
  const problem =
    value === "" ? "has no value" : "contains characters that are invalid in a header";
  throw new UsageError(`--header ${name} ${problem}.`);
}

/** All headers as one record; rejects duplicates. */
function readHeaders(texts: readonly string[]): Readonly<Record<string, string>> {
  const headers = new Map<string, readonly [string, string]>();
  for (const text of texts) {
    const header = readHeader(text);
    const key = header[0].toLowerCase();
    if (headers.has(key)) throw new UsageError(`--header ${header[0]} is given twice.`);
    headers.set(key, header);
  }
  return Object.fromEntries(headers.values());
}

/** Credentials as a request carries them. */
interface RequestParts {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

export async function toRequestParts(
  auth: CommandAuth | undefined,
  url: string,
): Promise<RequestParts> {
  if (auth === undefined) return { headers: {}, query: {} };
  if ("oauth" in auth) return inHeader("Authorization", `Bearer ${await accessToken(auth, url)}`);
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

/**
 * The credentials as headers, for commands that report the addresses they call: a key in the query
 * would appear in the report.
 */
export async function readAuthHeaders(
  context: CommandContext,
): Promise<Readonly<Record<string, string>>> {
  const { headers, query } = await toRequestParts(await readAuth(context), readUrl(context));
  if (Object.keys(query).length > 0) {
    throw new UsageError("An --api-key in the query is not supported here; send it as a header.");
  }
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value ?? ""]),
  );
}

/** The token for requests that are not A2A. There is no card, so the issuer is the stored or given one. */
async function accessToken(
  { oauth }: Extract<CommandAuth, { readonly oauth: unknown }>,
  url: string,
): Promise<string | undefined> {
  const { issuer = "", scopes = [], resource = new URL(url).origin } = oauth;
  const client = createEgress({ trusted: [issuer] });
  try {
    const source = { issuer, scopes, resource: resource || undefined };
    return await new OAuthTokens({ options: oauth, url, client, source }).current();
  } finally {
    client.close();
  }
}

function inHeader(name: string, value: string): RequestParts {
  return { headers: { [name]: value }, query: {} };
}
