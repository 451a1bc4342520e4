import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type JWK, type JWTPayload, SignJWT, exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";
import { afterAll, beforeAll } from "vitest";

/** An OpenID provider on a port of its own, while the tests of a file run. */
export interface Issuer {
  readonly url: string;
  /** How often its keys were fetched. */
  readonly keyFetches: number;
  /** An access token for a client, as the provider issues it. */
  token(audience: string, scope?: string): Promise<string>;
  /** A token that is signed with the key of the provider, with any content. */
  forge(payload: JWTPayload, options?: ForgeOptions): Promise<string>;
  /** The provider signs with a new key from now on, and forgets the old one. */
  rotate(): Promise<void>;
  /** The public key that it signs with now. */
  publicKey(): JWK;
}

interface ForgeOptions {
  readonly expiresIn?: string;
  /** Default: the key of the provider. */
  readonly key?: Parameters<SignJWT["sign"]>[0];
  readonly alg?: string;
  /** Default: that of the key. */
  readonly kid?: string;
}

const CLIENT = { id: "robot", secret: "of the robot" };

interface SigningKey {
  readonly privateKey: Parameters<SignJWT["sign"]>[0];
  readonly jwk: JWK;
  readonly publicKey: JWK;
}

export function useIssuer(): Issuer {
  let handle: (request: IncomingMessage, response: ServerResponse) => void;
  let key: SigningKey;
  let keyFetches = 0;
  let url: string;
  let count = 0;
  const server = createServer((request, response) => {
    if (request.url === "/jwks") keyFetches++;
    handle(request, response);
  });

  async function rotate(): Promise<void> {
    key = await newKey(`key-${++count}`);
    handle = new Provider(url, configuration(key.jwk)).callback();
  }

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await rotate();
  });
  afterAll(() => void server.close());

  return {
    rotate,
    publicKey: () => key.publicKey,
    get url() {
      return url;
    },
    get keyFetches() {
      return keyFetches;
    },
    async token(audience, scope = "read") {
      const answer = await fetch(`${url}/token`, {
        method: "POST",
        headers: {
          authorization: `Basic ${btoa(`${CLIENT.id}:${encodeURIComponent(CLIENT.secret)}`)}`,
        },
        body: new URLSearchParams({ grant_type: "client_credentials", resource: audience, scope }),
      });
      const { access_token: token } = (await answer.json()) as { access_token?: string };
      if (token === undefined) throw new Error(`no token: ${answer.status}`);
      return token;
    },
    forge: (payload, options = {}) => {
      const { expiresIn = "1h", alg = "ES256", kid = key.jwk.kid! } = options;
      return new SignJWT({ iss: url, sub: "robot", ...payload })
        .setProtectedHeader({ alg, kid })
        .setExpirationTime(expiresIn)
        .sign(options.key ?? key.privateKey);
    },
  };
}

async function newKey(kid: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  const facts = { kid, alg: "ES256", use: "sig" };
  return {
    privateKey,
    jwk: { ...(await exportJWK(privateKey)), ...facts },
    publicKey: { ...(await exportJWK(publicKey)), ...facts },
  };
}

function configuration(jwk: JWK): object {
  return {
    jwks: { keys: [jwk] },
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: "ES256",
      },
    ],
    cookies: { keys: ["unused"] },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_: unknown, audience: string) => ({
          scope: "read write admin convoke:approve convoke:operate",
          audience,
          accessTokenFormat: "jwt",
          accessTokenTTL: 3600,
          jwt: { sign: { alg: "ES256" } },
        }),
      },
    },
  };
}
