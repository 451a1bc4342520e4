import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";
import { afterAll, beforeAll } from "vitest";

/** A request to the token endpoint. */
interface TokenRequest {
  readonly authorization: string | undefined;
  readonly form: URLSearchParams;
}

/** An OpenID provider with a scripted person, ann, who agrees to everything. */
export interface IdentityProvider {
  readonly url: string;
  /** All requests to the token endpoint. */
  readonly tokenRequests: readonly TokenRequest[];
  /** The paths that were requested. */
  readonly paths: readonly string[];
  /** Lifetime of the next access tokens, in seconds. */
  lifetime: number;
  /** Lifetime of the next refresh tokens, in seconds. */
  refreshLifetime: number;
}

export const ROBOT = { clientId: "robot", clientSecret: "the secret of the robot" };

/** A public client, for people. */
export const PERSON = { clientId: "person" };

export function useProvider(): IdentityProvider {
  const tokenRequests: TokenRequest[] = [];
  const paths: string[] = [];
  let url = "";
  let provider: Provider;
  const server = createServer((request, response) => {
    const path = (request.url ?? "").split("?")[0]!;
    paths.push(path);
    if (path === "/token") void note(request, tokenRequests);
    if (path.startsWith("/interaction/")) void interact(provider, request, response);
    else provider.callback()(request, response);
  });
  const own: IdentityProvider = {
    get url() {
      return url;
    },
    tokenRequests,
    paths,
    lifetime: 3600,
    refreshLifetime: 3600,
  };
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    provider = new Provider(url, await configuration(own));
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return own;
}

async function note(request: IncomingMessage, requests: TokenRequest[]): Promise<void> {
  let body = "";
  request.on("data", (chunk) => (body += String(chunk)));
  request.on("end", () => {
    const { authorization } = request.headers;
    requests.push({ authorization, form: new URLSearchParams(body) });
  });
}

/** Signs ann in and grants what was asked for. */
async function interact(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  const options = { mergeWithLastSubmission: true };
  if (prompt.name === "login") {
    const result = { login: { accountId: "ann" } };
    return provider.interactionFinished(request, response, result, options);
  }
  const grant = grantId
    ? await provider.Grant.find(grantId)
    : new provider.Grant({ accountId: session!.accountId, clientId: params.client_id });
  const { missingOIDCScope = [], missingResourceScopes = {} } = prompt.details;
  grant.addOIDCScope(missingOIDCScope.join(" "));
  for (const [resource, scopes] of Object.entries(missingResourceScopes)) {
    grant.addResourceScope(resource, scopes.join(" "));
  }
  const consent = { grantId: await grant.save() };
  return provider.interactionFinished(request, response, { consent }, options);
}

async function configuration(own: IdentityProvider): Promise<object> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), kid: "key-1", alg: "ES256", use: "sig" };
  const es256 = { id_token_signed_response_alg: "ES256" };
  return {
    jwks: { keys: [jwk] },
    clients: [
      {
        client_id: ROBOT.clientId,
        client_secret: ROBOT.clientSecret,
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
        ...es256,
      },
      {
        client_id: PERSON.clientId,
        application_type: "native",
        token_endpoint_auth_method: "none",
        grant_types: [
          "authorization_code",
          "refresh_token",
          "urn:ietf:params:oauth:grant-type:device_code",
        ],
        redirect_uris: ["http://127.0.0.1/callback"],
        response_types: ["code"],
        ...es256,
      },
    ],
    clientDefaults: es256,
    scopes: ["openid", "offline_access", "read", "write"],
    cookies: { keys: ["unused"] },
    findAccount: (_: unknown, accountId: string) => ({
      accountId,
      claims: () => ({ sub: accountId }),
    }),
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    // Each refresh token is valid once.
    rotateRefreshToken: true,
    ttl: { RefreshToken: () => own.refreshLifetime },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: true },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_: unknown, audience: string) => ({
          scope: "read write",
          audience,
          accessTokenFormat: "jwt",
          accessTokenTTL: own.lifetime,
          jwt: { sign: { alg: "ES256" } },
        }),
      },
    },
  };
}
