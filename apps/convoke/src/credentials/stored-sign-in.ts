import type { OAuthOptions } from "@convoke/client";
import { openCredentials } from "./credentials-file.ts";

/**
 * The sign-in that `convoke login <url>` stored, for `auth: { oauth }` of `connect` and of an MCP
 * server. Tokens are read when they are needed and stored when they are renewed. Before the login
 * there are none.
 *
 * @example
 * mcpServers: { docs: { url, auth: { oauth: storedSignIn(url) } } }
 */
export function storedSignIn(
  url: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): OAuthOptions {
  const { origin } = new URL(url);
  const file = openCredentials(env);
  const store = file.tokensFor(origin);
  const found = file.find(origin);
  if (found === undefined || !("signIn" in found)) return { store };
  const { issuer, clientId, scopes, resource = false } = found.signIn;
  return { issuer, clientId, scopes, resource, store };
}
