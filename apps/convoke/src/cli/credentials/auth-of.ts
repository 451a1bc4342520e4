import { isToken } from "@convoke/client";
import { urlOf } from "../agent-options.ts";
import type { CommandContext } from "../command.ts";
import { UsageError } from "../usage-error.ts";
import { readApiKey } from "./api-key-option.ts";
import { askSecret } from "./ask-secret.ts";
import { type CommandAuth, carriedBy } from "./carried-by.ts";
import { CredentialsFile } from "./credentials-file.ts";
import { credentialsPath } from "./credentials-path.ts";
import { environmentToken } from "./environment-token.ts";
import { readHeaders } from "./header-option.ts";

const IDENTITIES = ["token", "api-key", "basic"] as const;

/**
 * Who is calling: what the flags say, else the token that was stored for the
 * origin, else that of the environment if it is for the origin. Further headers
 * go along. The client sends all of it to the origin of the URL and nowhere else.
 */
export async function authOf(context: CommandContext): Promise<CommandAuth | undefined> {
  const headers = readHeaders(context.texts("header"));
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  const flagged = await flaggedIdentity(context);
  const identity = flagged ?? (names.includes("authorization") ? undefined : kept(context));
  if (identity === undefined) return names.length === 0 ? undefined : { headers };
  if (names.length === 0) return identity;
  const carried = carriedBy(identity);
  if (Object.keys(carried.query).length > 0) {
    throw new UsageError("--header cannot go along with an --api-key in the query; give one.");
  }
  const twice = Object.keys(carried.headers).find((name) => names.includes(name.toLowerCase()));
  if (twice === undefined) return { headers: { ...headers, ...carried.headers } };
  throw new UsageError(`--header ${twice} and another flag both say who you are; give one.`);
}

async function flaggedIdentity(context: CommandContext): Promise<CommandAuth | undefined> {
  const { text, io } = context;
  const given = IDENTITIES.filter((name) => text(name) !== undefined);
  if (given.length > 1) {
    const flags = given.map((name) => `--${name}`).join(" and ");
    throw new UsageError(`${flags} both say who you are; give one.`);
  }
  const [token, apiKey, user] = IDENTITIES.map((name) => text(name));
  if (token !== undefined) return { bearer: checkToken(token, "--token") };
  if (apiKey !== undefined) return { apiKey: readApiKey(apiKey) };
  if (user === undefined) return undefined;
  if (user.includes(":") || user === "") {
    throw new UsageError("--basic takes the name of the user alone; the password is asked for.");
  }
  return { basic: { user, password: await askSecret(io, "password") } };
}

/** What was stored before, or is in the environment. */
function kept(context: CommandContext): CommandAuth | undefined {
  const { env } = context.io;
  const url = urlOf(context);
  const path = credentialsPath(env);
  const stored = path && new CredentialsFile(path).tokenFor(new URL(url).origin);
  if (path && stored) return { bearer: checkToken(stored, path) };
  const token = environmentToken(env, url);
  return token === undefined ? undefined : { bearer: checkToken(token, "CONVOKE_TOKEN") };
}

/** A token that no header can carry would be quoted by an error of somebody else. */
export function checkToken(token: string, place: string): string {
  if (isToken(token)) return token;
  throw new UsageError(`The token of ${place} holds characters that no token can have.`);
}
