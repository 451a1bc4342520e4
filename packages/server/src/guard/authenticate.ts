import { createHash, timingSafeEqual } from "node:crypto";
import { A2AError, type Caller } from "@convoke/protocol";

/** Finds out who calls, or refuses. */
export type Authenticate = (authorization: string | undefined) => Caller;

/** Nobody is asked who they are: every caller is the same owner. */
export const authenticateNobody: Authenticate = () => ({ owner: "anonymous" });

/**
 * One bearer token. Hashes are compared, so neither the time nor the length of
 * a comparison tells anything about the token.
 */
export function createBearerCheck(token: string): Authenticate {
  const expected = sha256(token);
  return (authorization) => {
    const given = /^bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
    if (given !== undefined && timingSafeEqual(sha256(given), expected)) return { owner: "token" };
    const detail =
      given === undefined ? "a bearer token is required" : "the bearer token is not valid";
    throw new A2AError("Unauthenticated", detail, { details: { reason: "unauthenticated" } });
  };
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
