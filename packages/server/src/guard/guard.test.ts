import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { aRequest } from "../http/a-request.suite.ts";
import { type AuthOptions, Authentication } from "./authenticate.ts";
import { bearer } from "../auth/authenticator.ts";
import { Guard } from "./guard.ts";
import { A2AError, type Caller } from "@convoke/protocol";

const TOKEN = "s3cret-Token_of.ours~+/=";

verifies("R114", "the right token is let in, however its scheme is spelled", () => {
  const { authenticate } = bearer(TOKEN);

  for (const authorization of [`Bearer ${TOKEN}`, `bearer ${TOKEN}`, `BEARER   ${TOKEN} `]) {
    expect(authenticate(aRequest({ headers: { authorization } }))).toEqual({ owner: "token" });
  }
});

describe("is rejected", () => {
  for (const [what, header] of [
    ["no header", undefined],
    ["an empty header", ""],
    ["a scheme alone", "Bearer"],
    ["a scheme and spaces", "Bearer   "],
    ["the token without a scheme", TOKEN],
    ["another scheme", `Basic ${TOKEN}`],
    ["a scheme with the same prefix", `BearerX ${TOKEN}`],
    ["another token", "Bearer guessed"],
    ["the token in capitals", `Bearer ${TOKEN.toUpperCase()}`],
    ["a prefix of the token", `Bearer ${TOKEN.slice(0, -1)}`],
    ["more than the token", `Bearer ${TOKEN}x`],
    ["the token and a second one", `Bearer ${TOKEN} ${TOKEN}`],
    ["two headers in one", `Bearer guessed, Bearer ${TOKEN}`],
  ] as const) {
    verifies("R114", what, async () => {
      const refusal = await refusalOf(header);

      expect(refusal.reason).toBe("Unauthenticated");
      expect(refusal.row).toMatchObject({ code: -32603, http: 401 });
      expect(refusal.details).toEqual({ reason: "unauthenticated" });
    });
  }
});

test("a refusal says what is missing and never repeats what was given or expected", async () => {
  expect((await refusalOf(undefined)).detail).toBe("a bearer token is required");

  const refusal = await refusalOf("Bearer guessed-canary");
  const told = JSON.stringify([refusal, refusal.message, refusal.stack]);

  expect(refusal.detail).toBe("the bearer token is not valid");
  expect(told).not.toContain("guessed-canary");
  expect(told).not.toContain(TOKEN);
});

function aGuard(options: AuthOptions): Guard {
  return new Guard({ authentication: new Authentication(options) });
}

const LOCAL = { host: "localhost:3000" };
const FOREIGN = { host: "evil.example" };
const AUTHORIZED = { authorization: "Bearer right" };

test("public resources need no token, but a host of ours", () => {
  const guard = aGuard({ token: "right" });

  expect(() => guard.admit(aRequest({ headers: LOCAL }))).not.toThrow();
  expect(() => guard.admit(aRequest({ headers: FOREIGN }))).toThrow("Forbidden");
});

verifies("R114", "everything else needs the token", async () => {
  const guard = aGuard({ token: "right" });

  await expect(guard.identify(aRequest({ headers: LOCAL }))).rejects.toThrow("Unauthorized");
  expect(await guard.identify(aRequest({ headers: { ...LOCAL, ...AUTHORIZED } }))).toEqual({
    owner: "token",
  });
});

test("a foreign host is rejected before its token is checked", async () => {
  const guard = aGuard({ token: "right" });

  const request = aRequest({ headers: { ...FOREIGN, ...AUTHORIZED } });

  await expect(guard.identify(request)).rejects.toThrow("Forbidden");
});

verifies("R116", "an identity in the query or another header is ignored", async () => {
  const guard = aGuard({ token: "right" });
  const request = aRequest({
    headers: { ...LOCAL, "x-authorization": "Bearer right", cookie: "token=right" },
    query: new URLSearchParams({ token: "right", authorization: "Bearer right" }),
  });

  await expect(guard.identify(request)).rejects.toThrow("Unauthorized");
});

test("without a token every local caller is the same owner", async () => {
  const guard = aGuard({});

  const plain = await guard.identify(aRequest({ headers: LOCAL }));
  const dressed = await guard.identify(aRequest({ headers: { ...LOCAL, ...AUTHORIZED } }));

  expect(plain).toEqual(dressed);
});

test.each<[AuthOptions, string]>([
  [
    { token: "right", authenticate: () => undefined },
    "token and authenticate cannot be combined: both identify the caller",
  ],
  [{ auth: [] }, "auth must have an entry"],
  [
    { auth: [bearer("right")], authenticate: () => undefined },
    "auth and authenticate cannot be combined",
  ],
  [
    { securitySchemes: { key: { type: "apiKey", in: "header", name: "x-key" } } },
    "securitySchemes and security need authenticate",
  ],
  [
    { authenticate: () => undefined, security: [{ bearer: [], key: [] }] },
    'security names "key", which is not one of securitySchemes (bearer)',
  ],
])("%j is rejected when the server starts", (options, problem) => {
  expect(() => new Authentication(options)).toThrow(problem);
});

test.each([
  [{ owner: "" }, "a caller with an owner"],
  [{ owner: "ann", scopes: "convoke:operate" }, "a caller whose scopes are a list of texts"],
  [{ owner: "ann", scopes: [1] }, "a caller whose scopes are a list of texts"],
])("authenticate cannot return %j", async (caller, problem) => {
  const authentication = new Authentication({ authenticate: () => caller as unknown as Caller });

  await expect(authentication.identify(aRequest())).rejects.toThrow(`must return ${problem}`);
});

test("a 401 says what the caller can send as Authorization", () => {
  const challengeFor = (securitySchemes: NonNullable<AuthOptions["securitySchemes"]>): string =>
    new Authentication({ authenticate: () => undefined, securitySchemes }).challengeAt(undefined);

  expect(
    challengeFor({
      password: { type: "http", scheme: "basic" },
      login: { type: "openIdConnect", openIdConnectUrl: "https://id.example/" },
      app: { type: "oauth2", flows: {} },
    }),
  ).toBe('Basic realm="convoke", Bearer realm="convoke"');
  expect(challengeFor({ certificate: { type: "mutualTLS" } })).toBe('MutualTLS realm="convoke"');
  expect(challengeFor({ session: { type: "apiKey", in: "cookie", name: "sid" } })).toBe(
    'ApiKey realm="convoke", in="cookie", name="sid"',
  );
});

/** Why the header is refused. */
async function refusalOf(authorization: string | undefined): Promise<A2AError> {
  try {
    await new Authentication({ token: TOKEN }).identify(aRequest({ headers: { authorization } }));
  } catch (error) {
    if (A2AError.is(error)) return error;
    throw error;
  }
  throw new Error("the caller was let in");
}
