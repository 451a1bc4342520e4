import { type KeyObject, generateKeyPairSync, sign } from "node:crypto";

export const ISSUER = "https://issuer.example";
export const AUDIENCE = "https://agent.example";

/** The content of a token, and how it is signed. Without `key` it is signed correctly. */
export interface TokenOptions {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Makes the signature of the signing input. */
  readonly signature?: (input: string) => Uint8Array;
}

/** The keys of an issuer of JSON Web Tokens, and what an attacker can make of them. */
export class TokenIssuer {
  readonly #privateKey: KeyObject;
  readonly #publicKey: KeyObject;

  constructor() {
    const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
    this.#privateKey = pair.privateKey;
    this.#publicKey = pair.publicKey;
  }

  /** The key set that the server trusts. */
  get keySet(): { readonly keys: readonly object[] } {
    const jwk = this.#publicKey.export({ format: "jwk" });
    return { keys: [{ ...jwk, kid: KEY_ID, alg: "ES256", use: "sig" }] };
  }

  /** The public key, which everybody knows. */
  get publicPem(): string {
    return this.#publicKey.export({ format: "pem", type: "spki" }).toString();
  }

  /** A token of ann for this server, unless the options say otherwise. */
  token(options: TokenOptions = {}): string {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: ISSUER, aud: AUDIENCE, sub: "ann", iat: now, exp: now + 3600 };
    const header = encode({ alg: "ES256", kid: KEY_ID, typ: "JWT", ...options.header });
    const input = `${header}.${encode({ ...claims, ...options.claims })}`;
    const signature = options.signature ?? ((text) => this.#sign(text));
    return `${input}.${Buffer.from(signature(input)).toString("base64url")}`;
  }

  #sign(input: string): Uint8Array {
    return signWith(this.#privateKey, input);
  }
}

/** Signs as ES256 does. */
export function signWith(key: KeyObject, input: string): Uint8Array {
  return sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" });
}

const KEY_ID = "key-1";

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
