import { createSecretKey } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { UnsecuredJWT, generateKeyPair } from "jose";
import { createJsonLogger } from "@convoke/engine";
import { type JwtOptions, jwt, mount, oidc, serve } from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { refusalOf } from "../conformance/refusal.ts";
import { aRequest } from "../conformance/requests.ts";
import { speakersTo } from "../conformance/speakers.ts";
import { verifies } from "../verifies.ts";
import { knowingAgent } from "./a-knowing-agent.ts";
import { useIssuer } from "./an-issuer.ts";

const issuer = useIssuer();
const AUDIENCE = "https://agent.example";

const log: string[] = [];

/** An agent that accepts the tokens of the issuer. */
async function anAgent(options: Partial<JwtOptions> = {}) {
  const auth = [jwt({ issuer: issuer.url, audience: AUDIENCE, ...options })];
  const logger = createJsonLogger("warn", (line) => log.push(line));
  const mounted = await mount(knowingAgent, { data: "memory", auth, logger });
  onTestFinished(() => mounted.close());
  return async (token: string) => {
    const headers = { authorization: `Bearer ${token}`, "a2a-version": "1.0" };
    const request = new Request("http://localhost/tasks", { headers });
    const answer = await mounted.fetch(request);
    return { status: answer.status, text: await answer.text() };
  };
}

describe("a token of the provider", () => {
  verifies("R114", "identifies its caller on every binding", async () => {
    const auth = [oidc({ issuer: issuer.url, audience: AUDIENCE })];
    await using server = await serve(knowingAgent, { port: 0, data: "memory", auth });
    const token = await issuer.token(AUDIENCE, "read write");

    for (const speaker of speakersTo(server)) {
      const robot = speaker.with({ authorization: `Bearer ${token}` });
      const { artifacts } = await robot.sendTask(aRequest("who?"));
      const [part] = artifacts![0]!.parts;
      expect(JSON.parse((part as { text: string }).text)).toMatchObject({
        owner: `${issuer.url}#robot`,
        scopes: ["read", "write"],
        claims: { client_id: "robot" },
      });
      const { message } = await refusalOf(speaker.sendTask(aRequest("who?")));
      expect(message).toBe("Unauthorized: a bearer token is required");
    }
  });

  test("is verified with keys that are fetched once, and then remembered", async () => {
    const get = await anAgent();
    const before = issuer.keyFetches;
    const token = await issuer.token(AUDIENCE);

    for (let count = 0; count < 5; count++) expect((await get(token)).status).toBe(200);
    expect((await get(await issuer.token(AUDIENCE))).status).toBe(200);

    expect(issuer.keyFetches - before).toBe(1);
  });

  test("carries the owner and the tenant in the claims that the operator names", async () => {
    const auth = [
      jwt({ issuer: issuer.url, audience: AUDIENCE, ownerClaim: "email", tenantClaim: "org" }),
    ];
    await using server = await serve(knowingAgent, { port: 0, data: "memory", auth });
    const [speaker] = speakersTo(server);
    const as = async (payload: object) => {
      const token = await issuer.forge({ aud: AUDIENCE, ...payload });
      return speaker!.with({ authorization: `Bearer ${token}` });
    };

    const ann = await as({ email: "ann@acme.example", org: "acme", scp: ["a", "b"] });
    const { artifacts } = await ann.sendTask(aRequest("who?"));
    const homeless = await as({ email: "ann@acme.example" });

    expect(JSON.parse((artifacts![0]!.parts[0] as { text: string }).text)).toMatchObject({
      owner: '["acme","ann@acme.example"]',
      tenant: "acme",
      scopes: ["a", "b"],
    });
    expect((await refusalOf(homeless.sendTask(aRequest("who?")))).message).toBe(
      "Unauthorized: the token has no claim org",
    );
  });
});

describe("is rejected with 401", () => {
  const cases: Readonly<Record<string, () => Promise<string>>> = {
    "a token for another audience": () => issuer.token("https://other.example"),
    "a token without an audience": () => issuer.forge({}),
    "a token of another issuer": () => issuer.forge({ iss: "https://evil.example", aud: AUDIENCE }),
    "an expired token": () => issuer.forge({ aud: AUDIENCE }, { expiresIn: "-1h" }),
    "a token that is not valid yet": () => issuer.forge({ aud: AUDIENCE, nbf: 4_000_000_000 }),
    "a token without a subject": () => issuer.forge({ aud: AUDIENCE, sub: "" }),
    "a token that is not signed": async () =>
      new UnsecuredJWT({ iss: issuer.url, sub: "robot", aud: AUDIENCE })
        .setExpirationTime("1h")
        .encode(),
    "a token with a foreign key under our key id": async () =>
      issuer.forge({ aud: AUDIENCE }, { key: (await generateKeyPair("ES256")).privateKey }),
    "a token with a key that the issuer does not publish": async () =>
      issuer.forge(
        { aud: AUDIENCE },
        { key: (await generateKeyPair("ES256")).privateKey, kid: "unknown" },
      ),
    "a token whose secret is the public key (algorithm confusion)": () => {
      const secret = createSecretKey(Buffer.from(JSON.stringify(issuer.publicKey())));
      return issuer.forge({ aud: AUDIENCE }, { alg: "HS256", key: secret });
    },
    "a token that was changed": async () => {
      const [header, , signature] = (await issuer.forge({ aud: AUDIENCE })).split(".");
      const payload = { iss: issuer.url, sub: "admin", aud: AUDIENCE, exp: 4_000_000_000 };
      return [header, Buffer.from(JSON.stringify(payload)).toString("base64url"), signature].join(
        ".",
      );
    },
    "no token at all, but three words with dots": async () => "a.b.c",
  };
  for (const [what, make] of Object.entries(cases)) {
    verifies("R114", what, async () => {
      const get = await anAgent();
      const token = await make();

      const { status, text } = await get(token);

      expect(status).toBe(401);
      expect(text).not.toContain(token);
    });
  }
});

test("a token is accepted within the clock skew after its end, and not later", async () => {
  const get = await anAgent({ clockSkewSeconds: 60 });

  expect((await get(await issuer.forge({ aud: AUDIENCE }, { expiresIn: "-30s" }))).status).toBe(
    200,
  );
  expect((await get(await issuer.forge({ aud: AUDIENCE }, { expiresIn: "-90s" }))).status).toBe(
    401,
  );
});

test("a remembered token is not accepted after its end", async () => {
  const get = await anAgent({ clockSkewSeconds: 0 });
  // The keys of the issuer are fetched before the time of the token runs.
  expect((await get(await issuer.token(AUDIENCE))).status).toBe(200);
  const token = await issuer.forge({ aud: AUDIENCE }, { expiresIn: "4s" });

  expect((await get(token)).status).toBe(200);

  await expect.poll(async () => (await get(token)).status, { timeout: 20_000 }).toBe(401);
});

test("requests go on while the issuer changes its key", async () => {
  const get = await anAgent({ jwksUri: `${issuer.url}/jwks` });
  const old = await issuer.token(AUDIENCE);
  const statuses: number[] = [];
  let isDone = false;
  const requests = (async () => {
    // Requests without a network do not let timers and sockets run.
    for (; !isDone; await setImmediate()) statuses.push((await get(old)).status);
  })();
  await expect.poll(() => statuses.length).toBeGreaterThan(3);

  await issuer.rotate();
  const before = issuer.keyFetches;
  const fresh = await issuer.token(AUDIENCE);
  // The keys were fetched a moment ago, so an agent that has not seen the new one waits with it.
  const other = await anAgent();
  expect((await other(fresh)).status).toBe(200);
  expect((await other(old)).status).toBe(401);
  await expect.poll(() => statuses.length).toBeGreaterThan(20);
  isDone = true;
  await requests;

  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(issuer.keyFetches - before).toBe(1);
});

test("unknown keys do not make the server flood the issuer", async () => {
  const get = await anAgent();
  expect((await get(await issuer.token(AUDIENCE))).status).toBe(200);
  const before = issuer.keyFetches;
  const { privateKey: key } = await generateKeyPair("ES256");

  for (let count = 0; count < 10; count++) {
    const token = await issuer.forge({ aud: AUDIENCE }, { key, kid: `unknown-${count}` });
    expect((await get(token)).status).toBe(401);
  }

  expect(issuer.keyFetches).toBe(before);
});

test("an issuer that does not answer is 503, and only the log has the reason", async () => {
  const get = await anAgent({ jwksUri: "http://127.0.0.1:1/keys" });

  const { status, text } = await get(await issuer.token(AUDIENCE));

  expect(status).toBe(503);
  expect(text).not.toContain("127.0.0.1");
  expect(log.at(-1)).toContain("could not reach http://127.0.0.1:1");
});

test.each<[Partial<JwtOptions>, string]>([
  [{ issuer: "id.example" }, "issuer must be the URL of the issuer"],
  [{ audience: [] }, "audience must name what the tokens are for"],
  [{ algorithms: ["none"] }, "not none"],
  [{ algorithms: ["HS256"] }, "algorithms with public keys are"],
  [{ secret: new Uint8Array(8) }, "at least 32 bytes"],
  [{ secret: new Uint8Array(32), algorithms: ["RS256"] }, "algorithms with a secret are"],
  [{ secret: new Uint8Array(32), jwksUri: "https://id.example/keys" }, "give one of"],
])("%j is rejected when the server starts", (options, problem) => {
  expect(() => jwt({ issuer: "https://id.example", audience: "a", ...options })).toThrow(problem);
});
