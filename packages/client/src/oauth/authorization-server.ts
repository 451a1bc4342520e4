import { ClientError } from "@convoke/protocol";
import { type AuthorizationServer, discoveryRequest, processDiscoveryResponse } from "oauth4webapi";
import { explainOAuthError, requestOptions } from "./issuer-requests.ts";
import { type OAuthHttp, signInError } from "./oauth-http.ts";
import { isWebUrl } from "./oauth-options.ts";
import type { CardEndpoints, TokenSource } from "./token-source.ts";

/**
 * The endpoints of an issuer: from its own metadata, or from the card if it has none.
 *
 * A card must not combine the sign-in page of one issuer with the token endpoint of an attacker, who
 * would receive the code and the secret. So all endpoints must have the origin of the issuer, unless
 * the user named the issuer and its own metadata say otherwise.
 */
export async function findAuthorizationServer(
  source: TokenSource,
  http: OAuthHttp,
  isIssuerGiven: boolean,
): Promise<AuthorizationServer> {
  const { endpoints, issuer } = source;
  const metadata = await readMetadata(source, http);
  if (metadata !== undefined && fits(metadata, source)) {
    if (!isIssuerGiven) checkOrigins(metadata, issuer);
    return isForPrograms(endpoints) ? withoutSignInPage(metadata) : metadata;
  }
  if (endpoints !== undefined) {
    const server = {
      issuer,
      token_endpoint: endpoints.token,
      ...(endpoints.authorization && { authorization_endpoint: endpoints.authorization }),
      ...(endpoints.device && { device_authorization_endpoint: endpoints.device }),
    };
    checkOrigins(server, issuer);
    return server;
  }
  throw signInError(`${issuer} has no metadata, so it is unknown where to get a token`);
}

async function readMetadata(
  { issuer, metadataUrl, endpoints }: TokenSource,
  http: OAuthHttp,
): Promise<AuthorizationServer | undefined> {
  const requests =
    metadataUrl === undefined
      ? (["oauth2", "oidc"] as const).map(
          (algorithm) => () =>
            discoveryRequest(new URL(issuer), { algorithm, ...requestOptions(http) }),
        )
      : [() => http.fetch(metadataUrl, { headers: { accept: "application/json" } })];
  for (const request of requests) {
    try {
      const response = await request();
      if (response.status === 200) return await processDiscoveryResponse(new URL(issuer), response);
    } catch (error) {
      // The card listed endpoints and no metadata, so what is there may be anything.
      if (endpoints === undefined) throw explainOAuthError(error, issuer);
    }
  }
  return undefined;
}

/** Whether the metadata are those of the issuer whose endpoints the card lists. */
function fits({ token_endpoint: token }: AuthorizationServer, { endpoints }: TokenSource): boolean {
  return endpoints === undefined || endpoints.token === token;
}

/** Whether the card lists flows, but none for people. */
function isForPrograms(endpoints: CardEndpoints | undefined): boolean {
  return endpoints !== undefined && !endpoints.authorization && !endpoints.device;
}

function withoutSignInPage(server: AuthorizationServer): AuthorizationServer {
  const { authorization_endpoint: _, device_authorization_endpoint: __, ...rest } = server;
  return rest;
}

const ENDPOINTS = [
  "authorization_endpoint",
  "device_authorization_endpoint",
  "token_endpoint",
  "registration_endpoint",
] as const;

function checkOrigins(server: AuthorizationServer, issuer: string): void {
  const { origin } = new URL(issuer);
  for (const name of ENDPOINTS) {
    const url = server[name];
    if (url === undefined || (isWebUrl(url) && new URL(url).origin === origin)) continue;
    throw new ClientError(
      "other-origin",
      `the ${name} of ${issuer} is at another origin (${isWebUrl(url) ? new URL(url).origin : "not a URL"}), ` +
        "so nothing was sent there. If you trust this issuer, name it: issuer in auth.oauth, or --issuer",
    );
  }
}
