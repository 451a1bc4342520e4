import type { Auth } from "@convoke/client";
import { isLoopbackHost } from "@convoke/protocol/internal";
import { type CommandIo, UsageError } from "../terminal/command.ts";

type Environment = CommandIo["env"];

/**
 * The credentials of the environment: CONVOKE_TOKEN, else the client of an OAuth issuer. CONVOKE_TOKEN
 * is also the token that a local server requires, so by default they are used for this machine only.
 * CONVOKE_URL names the one other origin that they are for.
 */
export function environmentAuth(
  env: Environment,
  url: string,
): { readonly bearer: string } | Extract<Auth, { readonly oauth: unknown }> | undefined {
  if (credentialName(env) === undefined || !isFor(env, url)) return undefined;
  const { CONVOKE_TOKEN: bearer, CONVOKE_CLIENT_SECRET: clientSecret } = env;
  if (bearer) return { bearer };
  const { clientId, issuer } = environmentClient(env);
  if (clientId !== undefined && issuer !== undefined) {
    return { oauth: { clientId, clientSecret, issuer } };
  }
  throw new UsageError(
    "CONVOKE_CLIENT_SECRET needs CONVOKE_CLIENT_ID and CONVOKE_ISSUER: the secret is sent to that issuer only.",
  );
}

/** The id of this program at an issuer, and the issuer that the user trusts. */
export function environmentClient(env: Environment): {
  readonly clientId: string | undefined;
  readonly issuer: string | undefined;
} {
  return {
    clientId: env["CONVOKE_CLIENT_ID"] || undefined,
    issuer: env["CONVOKE_ISSUER"] || undefined,
  };
}

/** The variable with credentials that must not be used for this URL. */
export function withheldVariable(env: Environment, url: string): string | undefined {
  const name = credentialName(env);
  return name === undefined || isFor(env, url) ? undefined : name;
}

function credentialName(env: Environment): string | undefined {
  return ["CONVOKE_TOKEN", "CONVOKE_CLIENT_SECRET"].find((name) => env[name]);
}

function isFor(env: Environment, url: string): boolean {
  if (isLoopback(url)) return true;
  const named = env["CONVOKE_URL"] || undefined;
  if (named === undefined) return false;
  if (!URL.canParse(named)) {
    throw new UsageError(`CONVOKE_URL must be an address such as https://agent.example.`);
  }
  return new URL(named).origin === new URL(url).origin;
}

/** Whether the host name of the URL is this machine. The URL parser normalizes all spellings. */
export function isLoopback(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname);
}
