import {
  A2AError,
  BEARER_SECURITY,
  type Caller,
  type OpenValues,
  type SecurityRequirement,
  type SecurityScheme,
} from "@convoke/protocol";
import type { Logger } from "@convoke/engine";
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

/** What an authenticator gets before the first request. */
export interface AuthEnvironment {
  readonly logger: Logger;
  /** The data folder. Absent if nothing is stored on disk. */
  readonly folder?: string | undefined;
  /** Opens collections of values that the servers of one database share. Absent if there is no database. */
  readonly values?: OpenValues | undefined;
}

/** One way in which callers authenticate: `bearer`, `apiKeys`, `jwt`, `oidc`, `mtls`, or one of your own. */
export interface Authenticator {
  /** What it accepts, by name, as the card declares it. */
  readonly schemes: Readonly<Record<string, SecurityScheme>>;
  /**
   * Returns `undefined` if the request has no credentials of this kind, so that the next
   * authenticator is asked. Throws an `A2AError` if it has some that are not valid.
   */
  readonly authenticate: Authenticate;
  /**
   * Which of `schemes` a caller has to use: one entry is enough, and all schemes of an entry are
   * required together. Default: any one of `schemes`.
   */
  readonly security?: readonly SecurityRequirement[];
  /**
   * Whether the credentials belong to the connection, as a client certificate does. They count only
   * if the request itself has none. Default false.
   */
  readonly isOfConnection?: boolean;
  /** The issuers of the tokens that it accepts, from which clients can get one (RFC 9728). */
  readonly authorizationServers?: readonly string[];
  /** Called once before the first request. An error stops the start. */
  prepare?(environment: AuthEnvironment): void | Promise<void>;
  /** Called when the server stops. */
  close?(): void;
}

/** What is known about the callers that have one token or one key. */
export interface CallerFacts {
  /** Owns the tasks of the caller; other owners cannot see them. */
  readonly owner: string;
  /** The tenant that the caller belongs to. Default none. */
  readonly tenant?: string;
  /** What the caller may do. Default nothing that needs a scope. */
  readonly scopes?: readonly string[];
}

/**
 * Accepts one bearer token. Hashes are compared, so that timing reveals nothing about the token or
 * its length.
 *
 * @param facts who the caller is. Default: the owner is "token", and may operate the server.
 *
 * @example
 * serve(agent, { auth: [bearer(process.env["AGENT_TOKEN"]!)] });
 */
export function bearer(token: string, facts: Partial<CallerFacts> = {}): Authenticator {
  if (typeof token !== "string" || token === "") {
    throw new TypeError("bearer needs a token that is not empty");
  }
  const expected = sha256(token);
  const isNamed = Object.keys(facts).length > 0;
  const caller: Caller = isNamed ? { owner: "token", ...facts } : unnamed({ owner: "token" });
  return {
    schemes: BEARER_SECURITY.schemes,
    authenticate(request) {
      const given = bearerToken(request);
      const isRight = given !== undefined && timingSafeEqual(sha256(given), expected);
      return isRight ? caller : undefined;
    },
  };
}

/** Callers of a server that does not tell its callers apart: it has one token, or no authentication. */
const UNNAMED = new WeakSet<Caller>();

export function unnamed(caller: Caller): Caller {
  UNNAMED.add(caller);
  return caller;
}

export function isUnnamed(caller: Caller): boolean {
  return UNNAMED.has(caller);
}

/** The bearer token of a request (RFC 6750 §2.1). */
export function bearerToken(request: AuthRequest): string | undefined {
  return /^bearer +(\S+) *$/i.exec(header(request, "authorization") ?? "")?.[1];
}

export function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** The error for missing or invalid credentials. */
export function unauthenticated(detail: string): A2AError {
  return new A2AError("Unauthenticated", detail, { details: { reason: "unauthenticated" } });
}

/** The credentials cannot be checked at the moment, because another system does not answer. */
export class AuthUnavailable extends Error {
  override readonly name = "AuthUnavailable";
}
