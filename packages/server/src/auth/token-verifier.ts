import { A2AError } from "@convoke/protocol";
import {
  type CryptoKey,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  jwtVerify,
} from "jose";
import { createEgress } from "@convoke/egress";
import { isObject, timeoutSignal } from "@convoke/protocol/internal";
import { AuthUnavailable, unauthenticated } from "./authenticator.ts";

/** Whose tokens are verified, and by which keys. See `JwtOptions`. */
export interface TokenIssuer {
  readonly issuer: string;
  readonly configurationUrl: string;
  readonly jwksUri?: string;
  readonly keys?: JSONWebKeySet;
  readonly secret?: Uint8Array;
}

/** Verifies the tokens of one issuer. */
export class TokenVerifier {
  readonly #keys: IssuerKeys | undefined;
  readonly #keyFor: JWTVerifyGetKey;
  readonly #options: JWTVerifyOptions;

  constructor(issuer: TokenIssuer, options: JWTVerifyOptions) {
    const { secret } = issuer;
    this.#keys = secret === undefined ? new IssuerKeys(issuer) : undefined;
    this.#keyFor = this.#keys?.keyFor ?? (() => secret as Uint8Array as never);
    this.#options = options;
  }

  /** The claims of a token. Rejects with what the caller may know about a token that is not valid. */
  async verify(token: string): Promise<JWTPayload> {
    try {
      return (await jwtVerify(token, this.#keyFor, this.#options)).payload;
    } catch (error) {
      throw explain(error);
    }
  }

  close(): void {
    this.#keys?.close();
  }
}

/** Says what is wrong with a token. Anything else means that it could not be checked. */
function explain(error: unknown): Error {
  if (A2AError.is(error) || error instanceof AuthUnavailable) return error;
  if (error instanceof errors.JWTExpired) return unauthenticated("the token has expired");
  if (error instanceof errors.JWTClaimValidationFailed) {
    return unauthenticated(`the claim ${error.claim} of the token is not accepted here`);
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return unauthenticated("the token is signed with a key that its issuer does not publish");
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return unauthenticated("the token is signed with an algorithm that is not accepted here");
  }
  const isToken = TOKEN_ERRORS.some((kind) => error instanceof kind);
  if (isToken) return unauthenticated("the token is not valid");
  return new AuthUnavailable("the keys of the issuer cannot be read", { cause: error });
}

const TOKEN_ERRORS = [
  errors.JWSInvalid,
  errors.JWTInvalid,
  errors.JWSSignatureVerificationFailed,
  errors.JWKSMultipleMatchingKeys,
  errors.JOSENotSupported,
];

/** The public keys of an issuer, given or fetched. */
class IssuerKeys {
  readonly #options: TokenIssuer;
  readonly #egress: ReturnType<typeof createEgress>;
  #found: Promise<JWTVerifyGetKey> | undefined;
  #failure: { readonly at: number; readonly error: unknown } | undefined;

  constructor(options: TokenIssuer) {
    this.#options = options;
    const { issuer, jwksUri = issuer } = options;
    // The operator gave these addresses, so they may be private. One that the issuer names may not.
    this.#egress = createEgress({ trusted: [issuer, jwksUri] });
  }

  readonly keyFor: JWTVerifyGetKey = async (header, token): Promise<CryptoKey> => {
    this.#found ??= this.#find();
    this.#found.catch(() => (this.#found = undefined));
    return (await (
      await this.#found
    )(header, token)) as CryptoKey;
  };

  close(): void {
    this.#egress.close();
  }

  async #find(): Promise<JWTVerifyGetKey> {
    const { keys, jwksUri } = this.#options;
    if (keys !== undefined) return createLocalJWKSet(keys);
    const url = jwksUri ?? (await this.#discover());
    return createRemoteJWKSet(new URL(url), { [customFetch]: (asked) => this.#fetch(asked) });
  }

  /** The issuer in the document must be the one that was asked (OpenID Connect Discovery §4.3). */
  async #discover(): Promise<string> {
    const { issuer, configurationUrl } = this.#options;
    const response = await this.#fetch(configurationUrl);
    const found: unknown = response.status === 200 ? await response.json() : undefined;
    const { issuer: named, jwks_uri: uri } = isObject(found) ? found : {};
    if (named === issuer && typeof uri === "string" && URL.canParse(uri)) return uri;
    const problem =
      response.status === 200
        ? `names the issuer ${JSON.stringify(named)}`
        : `is ${response.status}`;
    throw new AuthUnavailable(`the OpenID configuration of ${issuer} ${problem}`);
  }

  /** Fetches a document, unless the last attempt has just failed: callers could make us flood the issuer. */
  async #fetch(url: string): Promise<Response> {
    const { at, error } = this.#failure ?? { at: -Infinity };
    if (performance.now() - at < RETRY_MS) throw error;
    try {
      const { status, body } = await this.#egress.request({
        url,
        headers: { accept: "application/json" },
        signal: timeoutSignal(TIMEOUT_MS),
      });
      const response = new Response(await readText(body), { status });
      this.#failure = undefined;
      return response;
    } catch (error) {
      this.#failure = { at: performance.now(), error };
      throw error;
    }
  }
}

const RETRY_MS = 1000;

const TIMEOUT_MS = 5000;

/** More than the keys of any issuer need. */
const MAX_BYTES = 1024 * 1024;

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new AuthUnavailable("the keys of the issuer are too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
