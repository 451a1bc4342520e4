import {
  A2AError,
  BEARER_SECURITY,
  type Caller,
  type CardSecurity,
  type SecurityRequirement,
  type SecurityScheme,
} from "@convoke/protocol";
import { createHash, timingSafeEqual } from "node:crypto";
import { type HttpRequest, header } from "../http/exchange.ts";

/** A request whose body has not been read. */
export type AuthRequest = Pick<
  HttpRequest,
  "method" | "path" | "query" | "headers" | "node" | "web"
>;

/**
 * Identifies the caller of a request. Return `undefined` to reject it with 401, or throw an
 * `A2AError` to say why. Any other error is logged, and the caller gets 500 with an id to find it.
 */
export type Authenticate = (
  request: AuthRequest,
) => Promise<Caller | undefined> | Caller | undefined;

/** How the callers of a server authenticate. */
export interface AuthOptions {
  /**
   * Requires this bearer token on every request except for the card. Default: every caller is
   * accepted, and all callers share their tasks.
   */
  readonly token?: string;
  /**
   * Identifies the caller of every request except for the card. Use it instead of `token` if there
   * are several callers; each owner sees only its own tasks. Agents get the result as `turn.caller`.
   *
   * @example
   * authenticate: async ({ headers }) => {
   *   const user = await findUser(headers.authorization);
   *   return user && { owner: user.id, scopes: user.scopes };
   * }
   */
  readonly authenticate?: Authenticate;
  /**
   * What `authenticate` accepts, by name, as the card declares it. Default: a bearer token in the
   * `Authorization` header.
   */
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>;
  /**
   * Which of the schemes a caller has to use: one entry is enough, and all schemes of an entry are
   * required together. Default: any one of `securitySchemes`.
   */
  readonly security?: readonly SecurityRequirement[];
}

/** Identifies the callers of a server, and knows what its card and its 401 responses say about it. */
export class Authentication {
  /** Absent if every caller is accepted. */
  readonly security: CardSecurity | undefined;
  /** The `WWW-Authenticate` header of a 401 response. */
  readonly challenge: string;
  readonly #authenticate: Authenticate;

  constructor({ token, authenticate, securitySchemes, security }: AuthOptions) {
    if (token !== undefined && authenticate !== undefined) {
      throw new TypeError("token and authenticate cannot be combined: both identify the caller");
    }
    const check = token === undefined ? authenticate : acceptBearerToken(token);
    if (authenticate === undefined && (securitySchemes ?? security) !== undefined) {
      throw new TypeError(
        "securitySchemes and security need authenticate: the card must not declare what is not checked",
      );
    }
    this.security = check && declared(securitySchemes, security);
    this.challenge = challengeFor(this.security);
    this.#authenticate = check ?? acceptEveryone;
  }

  async identify(request: AuthRequest): Promise<Caller> {
    const caller = await this.#authenticate(request);
    if (caller === undefined) throw unauthenticated("it is not known who calls");
    if (typeof caller.owner === "string" && caller.owner !== "") return caller;
    throw new TypeError("authenticate must return a caller with an owner, which is not empty");
  }
}

/** No authentication: all callers are the same owner. */
const acceptEveryone: Authenticate = () => ({ owner: "anonymous" });

/**
 * Accepts one bearer token. Hashes are compared, so that timing reveals nothing about the token or
 * its length.
 */
export function acceptBearerToken(token: string): (request: AuthRequest) => Caller {
  const expected = sha256(token);
  return (request) => {
    const given = /^bearer +(\S+) *$/i.exec(header(request, "authorization") ?? "")?.[1];
    if (given !== undefined && timingSafeEqual(sha256(given), expected)) return { owner: "token" };
    throw unauthenticated(
      given === undefined ? "a bearer token is required" : "the bearer token is not valid",
    );
  };
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function unauthenticated(detail: string): A2AError {
  return new A2AError("Unauthenticated", detail, { details: { reason: "unauthenticated" } });
}

function declared(
  schemes: AuthOptions["securitySchemes"] = BEARER_SECURITY.schemes,
  requirements?: AuthOptions["security"],
): CardSecurity {
  const names = Object.keys(schemes);
  const unknown = requirements?.flatMap(Object.keys).find((name) => !Object.hasOwn(schemes, name));
  if (unknown !== undefined) {
    throw new TypeError(
      `security names ${JSON.stringify(unknown)}, which is not one of securitySchemes (${names.join(", ")})`,
    );
  }
  return { schemes, requirements: requirements ?? names.map((name) => ({ [name]: [] })) };
}

/** One challenge per kind of credential that is sent as `Authorization`; a 401 must have one (RFC 9110 §15.5.2). */
function challengeFor({ schemes } = BEARER_SECURITY): string {
  const kinds = Object.values(schemes).flatMap((scheme) => {
    if (scheme.type === "http") return [scheme.scheme];
    return scheme.type === "oauth2" || scheme.type === "openIdConnect" ? ["bearer"] : [];
  });
  const words = kinds.map((kind) => kind.charAt(0).toUpperCase() + kind.slice(1).toLowerCase());
  const all = words.length === 0 ? ["Bearer"] : [...new Set(words)];
  return all.map((kind) => `${kind} realm="convoke"`).join(", ");
}
