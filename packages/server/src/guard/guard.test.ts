import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { aRequest } from "../http/a-request.suite.ts";
import { Guard, authenticateAnyone, createBearerCheck } from "./guard.ts";
import { A2AError } from "@convoke/protocol";

const TOKEN = "s3cret-Token_of.ours~+/=";

verifies("R114", "the right token is let in, however its scheme is spelled", () => {
  const check = createBearerCheck(TOKEN);

  for (const header of [`Bearer ${TOKEN}`, `bearer ${TOKEN}`, `BEARER   ${TOKEN} `]) {
    expect(check(header)).toEqual({ owner: "token" });
  }
});

describe("is refused", () => {
  for (const [what, header] of [
    ["no header", undefined],
    ["an empty header", ""],
    ["a scheme alone", "Bearer"],
    ["a scheme and spaces", "Bearer   "],
    ["the token without a scheme", TOKEN],
    ["another scheme", `Basic ${TOKEN}`],
    ["a scheme that only begins alike", `BearerX ${TOKEN}`],
    ["another token", "Bearer guessed"],
    ["the token in capitals", `Bearer ${TOKEN.toUpperCase()}`],
    ["the beginning of the token", `Bearer ${TOKEN.slice(0, -1)}`],
    ["more than the token", `Bearer ${TOKEN}x`],
    ["the token and a second one", `Bearer ${TOKEN} ${TOKEN}`],
    ["two headers in one", `Bearer guessed, Bearer ${TOKEN}`],
  ] as const) {
    verifies("R114", what, () => {
      const refusal = refusalOf(header);

      expect(refusal.reason).toBe("Unauthenticated");
      expect(refusal.row).toMatchObject({ code: -32603, http: 401 });
      expect(refusal.details).toEqual({ reason: "unauthenticated" });
    });
  }
});

test("a refusal says what is missing and never repeats what was given or expected", () => {
  expect(refusalOf(undefined).detail).toBe("a bearer token is required");

  const refusal = refusalOf("Bearer guessed-canary");
  const told = JSON.stringify([refusal, refusal.message, refusal.stack]);

  expect(refusal.detail).toBe("the bearer token is not valid");
  expect(told).not.toContain("guessed-canary");
  expect(told).not.toContain(TOKEN);
});

test("where nobody is asked, every caller is the same owner", () => {
  expect(authenticateAnyone(undefined)).toEqual(authenticateAnyone(`Bearer ${TOKEN}`));
});

const LOCAL = { host: "localhost:3000" };
const FOREIGN = { host: "evil.example" };
const AUTHORIZED = { authorization: "Bearer right" };

test("what everyone may read needs no token, but a host of ours", () => {
  const guard = new Guard({ token: "right" });

  expect(() => guard.admit(aRequest({ headers: LOCAL }))).not.toThrow();
  expect(() => guard.admit(aRequest({ headers: FOREIGN }))).toThrow("Forbidden");
});

verifies("R114", "everything else needs the token", () => {
  const guard = new Guard({ token: "right" });

  expect(() => guard.identify(aRequest({ headers: LOCAL }))).toThrow("Unauthorized");
  expect(guard.identify(aRequest({ headers: { ...LOCAL, ...AUTHORIZED } }))).toEqual({
    owner: "token",
  });
});

test("a foreign host is refused before its token is looked at", () => {
  const guard = new Guard({ token: "right" });

  const request = aRequest({ headers: { ...FOREIGN, ...AUTHORIZED } });

  expect(() => guard.identify(request)).toThrow("Forbidden");
});

verifies("R116", "an identity in the query or another header counts for nothing", () => {
  const guard = new Guard({ token: "right" });
  const request = aRequest({
    headers: { ...LOCAL, "x-authorization": "Bearer right", cookie: "token=right" },
    query: new URLSearchParams({ token: "right", authorization: "Bearer right" }),
  });

  expect(() => guard.identify(request)).toThrow("Unauthorized");
});

test("without a token every local caller is the same owner", () => {
  const guard = new Guard({});

  const plain = guard.identify(aRequest({ headers: LOCAL }));
  const dressed = guard.identify(aRequest({ headers: { ...LOCAL, ...AUTHORIZED } }));

  expect(plain).toEqual(dressed);
});

test("an app that knows who calls is asked instead of looking for a token", () => {
  const callerOf = ({ headers }: Parameters<Guard["identify"]>[0]) =>
    typeof headers["x-user"] === "string" ? { owner: headers["x-user"] } : undefined;
  const guard = new Guard({ callerOf });

  expect(guard.identify(aRequest({ headers: { ...LOCAL, "x-user": "ann" } }))).toEqual({
    owner: "ann",
  });
  expect(() => guard.identify(aRequest({ headers: LOCAL }))).toThrow("it is not known who calls");
  expect(() => guard.identify(aRequest({ headers: { ...FOREIGN, "x-user": "ann" } }))).toThrow(
    "Forbidden",
  );
  expect(() => new Guard({ callerOf, token: "right" })).toThrow("cannot be combined");
});

/** Why the header is refused. */
function refusalOf(authorization: string | undefined): A2AError {
  try {
    createBearerCheck(TOKEN)(authorization);
  } catch (error) {
    if (A2AError.is(error)) return error;
    throw error;
  }
  throw new Error("the caller was let in");
}
