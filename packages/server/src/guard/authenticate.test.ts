import { A2AError } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { authenticateNobody, createBearerCheck } from "./authenticate.ts";

const TOKEN = "s3cret-Token_of.ours~+/=";

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
  expect(authenticateNobody(undefined)).toEqual(authenticateNobody(`Bearer ${TOKEN}`));
});
