import { type ConnectOptions, connect, discover } from "@convoke/client";
import { type CardKey, generateCardKey, publicKeySet, signCard } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { type FakeAgent, json, pagesV1, startFakeAgent } from "./fake-agent.ts";
import { conformanceAgent } from "../conformance/conformance-agent.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";

const CARD = "/.well-known/agent-card.json";
const KEYS = "/keys.json";

const key = await aKey();
const { keys: trustedKeys } = publicKeySet([key]);

async function aKey(): Promise<CardKey> {
  const { kid, privateKey } = await generateCardKey("ES256");
  return { kid, privateKey, alg: "ES256" };
}

/**
 * An agent whose card is signed, with a key at the given location, and optionally modified
 * afterwards.
 */
async function anAgent(
  signed: Partial<CardKey> | undefined,
  more: { readonly change?: object; readonly keySet?: object } = {},
): Promise<FakeAgent> {
  const { change = {}, keySet = publicKeySet([key]) } = more;
  const card: object[] = [];
  const agent = await startFakeAgent({
    pages: {
      [CARD]: () => json(card[0]),
      [KEYS]: () => json(keySet),
    },
  });
  const plain = JSON.parse(pagesV1()[CARD]?.(agent.url).body ?? "") as object;
  const own = { ...key, ...signed };
  const { jku } = own;
  const at = jku === undefined ? {} : { jku: new URL(jku, agent.url).href };
  card.push(
    signed === undefined ? plain : { ...(await signCard(plain, [{ ...own, ...at }])), ...change },
  );
  return agent;
}

async function signatureOf(agent: FakeAgent, options: ConnectOptions = {}) {
  return (await discover(agent.url, options)).signature;
}

describe("a signed card", () => {
  verifies(["v1-C11"], "is valid with a key that the caller has", async () => {
    const agent = await anAgent({});

    for (const signatures of ["if-present", "require"] as const) {
      expect(await signatureOf(agent, { signatures, trustedKeys })).toEqual({
        kind: "valid",
        kid: key.kid,
        form: "spec",
      });
    }
  });

  verifies(["v1-C11"], "is valid with a key published at its own origin", async () => {
    const agent = await anAgent({ jku: KEYS });

    expect(await signatureOf(agent, { signatures: "require" })).toMatchObject({ kind: "valid" });
    expect(agent.last.path).toBe(KEYS);
    expect(agent.last.headers["authorization"]).toBeUndefined();
  });

  verifies(["v1-C11"], "that was modified is an error, and no other card is tried", async () => {
    const agent = await anAgent({ jku: KEYS }, { change: { name: "Somebody else" } });

    for (const options of [{}, { signatures: "require" }, { trustedKeys }] as const) {
      await expect(connect(agent.url, options)).rejects.toMatchObject({
        kind: "bad-signature",
        message: expect.stringMatching(/is not by the key .* over this card/),
      });
    }
    expect(new Set(agent.seen.map(({ path }) => path))).toEqual(new Set([CARD, KEYS]));
    expect(await signatureOf(agent, { signatures: "ignore" })).toEqual({ kind: "unchecked" });
  });

  test("with a key that the caller does not trust is an error", async () => {
    const agent = await anAgent({});
    const other = publicKeySet([await aKey()]).keys;

    await expect(connect(agent.url, { trustedKeys: other })).rejects.toMatchObject({
      kind: "bad-signature",
      message: expect.stringContaining("unknown key"),
    });
  });

  test("with a key that claims another key's id is not accepted", async () => {
    const other = { ...(await aKey()), kid: key.kid };
    const agent = await anAgent({ ...other, jku: KEYS });

    await expect(connect(agent.url)).rejects.toMatchObject({ kind: "bad-signature" });
  });

  test("with an unsupported algorithm is an error", async () => {
    const header = Buffer.from(JSON.stringify({ alg: "none", kid: "k" })).toString("base64url");
    const agent = await anAgent(
      {},
      { change: { signatures: [{ protected: header, signature: "" }] } },
    );

    await expect(connect(agent.url)).rejects.toMatchObject({
      kind: "bad-signature",
      message: expect.stringContaining('the algorithm "none", which is not accepted'),
    });
  });

  test("whose keys are unavailable counts as unsigned, and is rejected if a signature is required", async () => {
    const agent = await anAgent({});

    expect(await signatureOf(agent)).toMatchObject({
      kind: "unverified",
      reason: expect.stringContaining("no key is known and it has no jku; pass trustedKeys"),
    });
    await expect(connect(agent.url, { signatures: "require" })).rejects.toMatchObject({
      kind: "bad-signature",
    });
  });

  test("whose keys are at another origin causes no request there, unless the caller allows it", async () => {
    const elsewhere = await startFakeAgent({ pages: { [KEYS]: () => json(publicKeySet([key])) } });
    const agent = await anAgent({ jku: `${elsewhere.url}${KEYS}` });
    const jkuOrigins = [elsewhere.url];
    const allow = [new URL(elsewhere.url).host];

    expect(await signatureOf(agent, { allow })).toMatchObject({
      kind: "unverified",
      reason: expect.stringContaining(`its keys are at ${elsewhere.url}, which is not permitted`),
    });
    // Without TLS anyone could have written the keys.
    expect(await signatureOf(agent, { allow, jkuOrigins })).toMatchObject({
      kind: "unverified",
      reason: expect.stringContaining("which is not permitted without https"),
    });
    expect(elsewhere.seen).toEqual([]);
  });

  test("whose keys are at a private address causes no request there", async () => {
    const agent = await anAgent({ jku: "https://169.254.169.254/keys" });
    const jkuOrigins = ["https://169.254.169.254"];

    await expect(connect(agent.url, { jkuOrigins })).rejects.toMatchObject({
      kind: "bad-signature",
      message: expect.stringContaining("is not a public address"),
    });
  });

  test.each([
    ["no keys", {}, "has no keys"],
    ["nothing", undefined, "answered 404"],
  ] as const)("whose origin serves %s is an error", async (_, keySet, words) => {
    const agent = await anAgent(
      { jku: keySet === undefined ? "/none.json" : KEYS },
      { keySet: keySet ?? {} },
    );

    await expect(connect(agent.url)).rejects.toMatchObject({
      kind: "bad-signature",
      message: expect.stringContaining(words),
    });
  });
});

test("an unsigned card is accepted unless a signature is required", async () => {
  const agent = await anAgent(undefined);

  expect(await signatureOf(agent)).toEqual({ kind: "unsigned" });
  await expect(connect(agent.url, { signatures: "require" })).rejects.toMatchObject({
    kind: "bad-signature",
    message: `the card at ${agent.url}${CARD} is not signed as required: has no signature`,
  });
});

describe("our own server that signs", () => {
  const server = useServer(conformanceAgent(), { card: { keys: [key] } });

  verifies(["v1-C11"], "is verified with its key", async () => {
    const remote = await connect(server.url, { signatures: "require", trustedKeys });

    expect((await remote.send("hello")).text).toBe("hello");
    expect((await discover(server.url, { trustedKeys })).signature).toMatchObject({
      kind: "valid",
    });
    remote.close();
  });
});
