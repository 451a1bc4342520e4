import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { BEARER_SECURITY } from "../model/security.ts";
import { overTheWire, someFacts } from "../testing/arbitraries.suite.ts";
import { decodeBase64Url } from "../internal/base64url.ts";
import { buildCard } from "./build-card.ts";
import { type CardAlgorithm, type CardKey, generateCardKey, publicKeySet } from "./card-key.ts";
import { base64UrlOf, forgedSignature } from "./forged-signature.suite.ts";
import { FULL_CARD, cards, changedAt, leavesOf } from "./full-card.suite.ts";
import { type AgentCardSignature, signCard, verifyCard } from "./signature.ts";

const key = await aKey("ES256");
const other = await aKey("ES256");
const rsa = await aKey("RS256");
const trusted = publicKeySet([key]);
const header = { alg: key.alg, kid: key.kid, typ: "JOSE" };

const guarded = overTheWire(buildCard(someFacts({ security: BEARER_SECURITY }), "1.0")) as object;

describe("a signed card", () => {
  verifies("v1-S61", "has its key and algorithm in the protected header", async () => {
    const { signatures } = await signCard(FULL_CARD, [{ ...key, jku: "https://agent.test/keys" }]);

    expect(signatures).toEqual([
      { protected: expect.any(String) as string, signature: expect.any(String) as string },
    ]);
    expect(headerOf(signatures[0])).toEqual({
      alg: "ES256",
      kid: key.kid,
      typ: "JOSE",
      jku: "https://agent.test/keys",
    });
  });

  test.each(["ES256", "ES384", "EdDSA", "RS256", "PS256"] as const)(
    "with %s is valid",
    async (alg) => {
      const signer = await aKey(alg);
      const card = await signCard(FULL_CARD, [signer]);

      expect(await verifyCard(card, publicKeySet([signer]))).toEqual({
        kind: "valid",
        kid: signer.kid,
        form: "spec",
      });
    },
  );

  test("is valid regardless of the order of its keys", async () => {
    const card = await signCard(FULL_CARD, [key]);

    expect(await verifyCard(backwards(card) as object, trusted)).toMatchObject({ kind: "valid" });
  });

  test("is signed twice by each key if the two forms differ, and once if they do not", async () => {
    expect((await signCard(FULL_CARD, [key, other])).signatures).toHaveLength(2);
    expect((await signCard(guarded, [key, other])).signatures).toHaveLength(4);
  });

  test("keeps its earlier signatures", async () => {
    const once = await signCard(FULL_CARD, [other]);
    const twice = await signCard(once, [key]);

    expect(twice.signatures).toEqual([...once.signatures, expect.anything()]);
    expect(once.signatures).toHaveLength(1);
    for (const signer of [key, other]) {
      expect(await verifyCard(twice, publicKeySet([signer]))).toMatchObject({ kid: signer.kid });
    }
  });

  test("is valid for every possible card", async () => {
    await fc.assert(
      fc.asyncProperty(cards, async (card) => {
        const signed = overTheWire(await signCard(unsigned(card), [key])) as object;

        expect(await verifyCard(signed, trusted)).toMatchObject({ kind: "valid", form: "spec" });
      }),
      { numRuns: 20 },
    );
  });
});

describe("a signature in one form only", () => {
  test.each(["spec", "sdk"] as const)(
    "of the %s is enough, and the result says so",
    async (form) => {
      const { privateKey } = key;
      const signature = await forgedSignature({ card: guarded, header, privateKey, form });

      expect(await verifyCard({ ...guarded, signatures: [signature] }, trusted)).toEqual({
        kind: "valid",
        kid: key.kid,
        form,
      });
    },
  );

  test("of the SDKs gives way to one that covers more, in any order", async () => {
    const { signatures, ...card } = await signCard(guarded, [key]);

    expect(
      await verifyCard({ ...card, signatures: signatures.toReversed() }, trusted),
    ).toMatchObject({ form: "spec" });
  });

  test("of the SDKs does not cover empty fields that were added; the result says so", async () => {
    const card = await signCard(FULL_CARD, [key]);
    const added = { ...card, securityRequirements: [...card.securityRequirements, {}] };

    expect(await verifyCard(card, trusted)).toMatchObject({ form: "spec" });
    expect(await verifyCard(added, trusted)).toMatchObject({ form: "sdk" });
  });

  test("of the SDKs allows empty fields to be removed, which cannot be detected", async () => {
    const { privateKey } = key;
    const spec = await forgedSignature({ card: guarded, header, privateKey, form: "spec" });
    const { securityRequirements: _, ...opened } = guarded as Record<string, unknown>;
    const { signatures } = await signCard(guarded, [key]);

    expect(await verifyCard({ ...opened, signatures }, trusted)).toMatchObject({ form: "spec" });
    expect(await verifyCard({ ...opened, signatures: [spec] }, trusted)).toMatchObject({
      kind: "invalid",
    });
  });
});

describe("a card without signatures is unsigned", () => {
  test.each([undefined, null, []])("%j", async (signatures) => {
    expect(await verifyCard({ ...FULL_CARD, signatures }, trusted)).toEqual({ kind: "unsigned" });
  });
});

describe("a modified card is invalid", () => {
  const leaves = leavesOf(FULL_CARD).map((path) => [path.join("."), path] as const);

  test.each(leaves)("in %s", async (_, path) => {
    const card = await signCard(FULL_CARD, [key]);
    const changed = changedAt(card, path, another) as object;
    const shortened = changedAt(card, path, () => undefined) as object;

    expect(await verifyCard(changed, trusted)).toMatchObject({ kind: "invalid" });
    expect(await verifyCard(shortened, trusted)).toMatchObject({ kind: "invalid" });
  });

  test("in any place of any card", async () => {
    const changes = fc
      .tuple(cards, fc.nat())
      .filter(([card]) => leavesOf(unsigned(card)).length > 0);
    await fc.assert(
      fc.asyncProperty(changes, async ([card, place]) => {
        const content = unsigned(card);
        const places = leavesOf(content);
        const signed = await signCard(content, [key]);
        const changed = changedAt(signed, places[place % places.length] ?? [], another) as object;

        expect(await verifyCard(changed, trusted)).toMatchObject({ kind: "invalid" });
      }),
      { numRuns: 40 },
    );
  });

  test.each([
    { documentationUrl: "https://evil.test" },
    { securityRequirements: [{ schemes: { bearer: { list: ["all"] } } }] },
    { securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "basic" } } } },
    { provider: { organization: "Evil", url: "https://evil.test" } },
    { capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false } },
  ])("by the addition of %j", async (addition) => {
    const card = await signCard(buildCard(someFacts(), "1.0"), [key]);

    expect(await verifyCard(card, trusted)).toMatchObject({ kind: "valid" });
    expect(await verifyCard({ ...card, ...addition }, trusted)).toMatchObject({ kind: "invalid" });
  });

  test("as an unreadable card, and the field is named", async () => {
    const card = { ...(await signCard(FULL_CARD, [key])), name: 5 };

    expect(await verifyCard(card, trusted)).toEqual({
      kind: "invalid",
      reason: "card.name must be a string",
    });
  });

  test("as a whole: the signature of another card is not valid for this one", async () => {
    const { signatures } = await signCard(FULL_CARD, [key]);

    expect(await verifyCard({ ...guarded, signatures }, trusted)).toEqual({
      kind: "invalid",
      reason: `signatures[0] is not by the key "${key.kid}" over this card`,
    });
  });
});

describe("a key", () => {
  test("that is not the signer's proves nothing, even with the same id", async () => {
    const card = await signCard(FULL_CARD, [{ ...other, kid: key.kid }]);

    expect(await reasonOf(card)).toBe(
      `signatures[0] is not by the key "${key.kid}" over this card`,
    );
  });

  test("that is unknown proves nothing", async () => {
    const card = await signCard(FULL_CARD, [other]);

    expect(await reasonOf(card)).toBe(`signatures[0] is by the unknown key "${other.kid}"`);
  });

  test("without an id matches nothing", async () => {
    const card = await signCard(FULL_CARD, [key]);
    const { kid: _, ...nameless } = trusted.keys[0] ?? {};

    expect(await verifyCard(card, { keys: [nameless] })).toMatchObject({ kind: "invalid" });
  });

  test("that comes with the signature is not used", async () => {
    const { privateKey } = other;
    const embedded = { ...header, kid: other.kid, jwk: publicKeySet([other]).keys[0] };
    const signature = await forgedSignature({ card: FULL_CARD, header: embedded, privateKey });

    expect(await reasonOf({ ...FULL_CARD, signatures: [signature] })).toMatch("unknown key");
  });

  test("may share its id with another: each is tried", async () => {
    const card = await signCard(FULL_CARD, [key]);
    const impostors = publicKeySet([
      { ...other, kid: key.kid },
      { ...rsa, kid: key.kid },
    ]).keys;

    expect(await verifyCard(card, { keys: [...impostors, ...trusted.keys] })).toMatchObject({
      kind: "valid",
    });
    expect(await verifyCard(card, { keys: impostors })).toMatchObject({ kind: "invalid" });
  });

  test("can be looked up by what the signature says", async () => {
    const card = await signCard(FULL_CARD, [{ ...key, jku: "https://agent.test/keys" }]);
    const asked: unknown[] = [];
    const keys = async (asking: unknown) => {
      asked.push(asking);
      return trusted.keys;
    };

    expect(await verifyCard(card, { keys })).toMatchObject({ kind: "valid" });
    expect(asked).toEqual([{ alg: "ES256", kid: key.kid, jku: "https://agent.test/keys" }]);
  });

  test("whose lookup fails proves nothing, and does not hide another", async () => {
    const card = await signCard(FULL_CARD, [other, key]);
    const keys = async ({ kid }: { kid?: string }) => {
      if (kid === other.kid) throw new Error("no route to host");
      return trusted.keys;
    };
    const fails = async () => {
      throw new Error("no route to host");
    };

    expect(await verifyCard(card, { keys })).toMatchObject({ kind: "valid", kid: key.kid });
    expect(await verifyCard(card, { keys: fails })).toMatchObject({
      kind: "invalid",
      reason: expect.stringContaining("which was not found: no route to host") as string,
    });
  });
});

describe("an algorithm", () => {
  test.each(["none", "HS256", "ES512", "es256", "constructor", "__proto__", ""])(
    "called %j is not accepted, whatever the list says",
    async (alg) => {
      const { privateKey } = key;
      const text = `{"alg":${JSON.stringify(alg)},"kid":"${key.kid}"}`;
      const signature = await forgedSignature({ card: FULL_CARD, header: text, privateKey });
      const card = { ...FULL_CARD, signatures: [signature] };

      expect(await verifyCard(card, { ...trusted, algorithms: [alg, "ES256"] })).toEqual({
        kind: "invalid",
        reason: `signatures[0] uses the algorithm ${JSON.stringify(alg)}, which is not accepted`,
      });
    },
  );

  test("without a signature is not accepted", async () => {
    const signature = {
      protected: base64UrlOf(JSON.stringify({ ...header, alg: "none" })),
      signature: "",
    };

    expect(await reasonOf({ ...FULL_CARD, signatures: [signature] })).toMatch("uses the algorithm");
  });

  test("that is not on the list is not accepted", async () => {
    const card = await signCard(FULL_CARD, [key]);

    expect(await verifyCard(card, { ...trusted, algorithms: ["EdDSA"] })).toMatchObject({
      reason: 'signatures[0] uses the algorithm "ES256", which is not accepted',
    });
    expect(await verifyCard(card, { ...trusted, algorithms: ["ES256"] })).toMatchObject({
      kind: "valid",
    });
  });

  test.each([
    ["RS256", {}, "must be an RSA key for RS256"],
    ["EdDSA", {}, "must be an OKP key on the curve Ed25519 for EdDSA"],
    ["ES384", {}, "must be an EC key on the curve P-384 for ES384"],
    ["ES256", { alg: "ES384" }, "is for ES384, not ES256"],
    ["ES256", { use: "enc" }, "is not for signatures according to its use"],
    ["ES256", { key_ops: ["sign"] }, "must not be used to verify according to its key_ops"],
    ["ES256", { kty: "oct", k: "c2VjcmV0" }, "must be an EC key on the curve P-256 for ES256"],
    ["ES256", { x: key.privateKey.y ?? "" }, "is not a usable key for ES256"],
  ])("%s does not accept a key that is %j", async (alg, overrides, reason) => {
    const { privateKey } = key;
    const signature = await forgedSignature({
      card: FULL_CARD,
      header: { ...header, alg },
      privateKey,
    });
    const { alg: _, ...publicKey } = trusted.keys[0] ?? {};
    const card = { ...FULL_CARD, signatures: [signature] };

    expect(await verifyCard(card, { keys: [{ ...publicKey, ...overrides }] })).toEqual({
      kind: "invalid",
      reason: `signatures[0] cannot be verified: the key "${key.kid}" ${reason}`,
    });
  });

  test("does not accept a key for another curve or hash", async () => {
    const pss = { alg: "PS256", kid: rsa.kid };
    const { alg: _, ...privateKey } = rsa.privateKey;
    const signature = await forgedSignature({
      card: FULL_CARD,
      header: pss,
      privateKey,
      alg: "PS256",
    });
    const card = { ...FULL_CARD, signatures: [signature] };

    expect(await verifyCard(card, publicKeySet([rsa]))).toMatchObject({
      reason: expect.stringMatching("is for RS256, not PS256") as string,
    });
  });

  test("of RSA does not accept a key below 2048 bits", async () => {
    const parameters = {
      name: "RSASSA-PKCS1-v1_5",
      hash: "SHA-256",
      modulusLength: 1024,
      publicExponent: new Uint8Array([1, 0, 1]),
    };
    const pair = await crypto.subtle.generateKey(parameters, true, ["sign", "verify"]);
    const weak = { ...(await crypto.subtle.exportKey("jwk", pair.publicKey)), kid: rsa.kid };
    const card = await signCard(FULL_CARD, [rsa]);

    expect(await verifyCard(card, { keys: [weak] })).toMatchObject({
      reason: expect.stringMatching("must have 2048 bits or more") as string,
    });
  });
});

describe("a protected header", () => {
  const { kid } = key;

  test.each([
    ["with crit", { ...header, crit: ["exp"], exp: 1 }, "has a crit header"],
    ["without kid", { alg: "ES256" }, "names no kid"],
    ["with an empty kid", { alg: "ES256", kid: "" }, "names no kid"],
    ["with a kid that is not a string", { alg: "ES256", kid: 1 }, "names no kid"],
    ["without alg", { kid }, "names no alg"],
    ["with a jku that is not a string", { ...header, jku: [] }, "has a jku that is not a string"],
    ["with a duplicate key", `{"alg":"none","alg":"ES256","kid":"${kid}"}`, 'has "alg" twice'],
    ["with a nested duplicate key", `{"alg":"ES256","kid":"${kid}","x":{"y":1,"y":2}}`, 'has "y"'],
    ["that is not an object", '["ES256"]', "that is not a JSON object"],
    ["that is null", "null", "that is not a JSON object"],
    ["that is not JSON", "ES256", "that is not JSON"],
    ["with a byte order mark", `\ufeff${JSON.stringify(header)}`, "that is not JSON"],
    ["that is too long", { ...header, x: "x".repeat(4096) }, "of more than 4096 characters"],
  ])("%s is rejected", async (_, forged, reason) => {
    const { privateKey } = key;
    const signature = await forgedSignature({ card: FULL_CARD, header: forged, privateKey });

    expect(await reasonOf({ ...FULL_CARD, signatures: [signature] })).toMatch(reason);
  });

  test.each([
    ["padded", (text: string) => `${text}=`],
    ["with a character of the other base64 alphabet", (text: string) => `${text.slice(0, -1)}+`],
    ["with a space", (text: string) => ` ${text}`],
    ["that is truncated", (text: string) => text.slice(0, -1)],
    ["that is not UTF-8", () => "_w"],
    ["that is empty", () => ""],
  ])("%s is rejected", async (_, spoil) => {
    const [signature] = (await signCard(FULL_CARD, [key])).signatures;
    const spoiled = { ...signature, protected: spoil(signature?.protected ?? "") };

    expect(await reasonOf({ ...FULL_CARD, signatures: [spoiled] })).toMatch(
      /^signatures\[0\] has a protected header that is not (base64url|JSON)$/,
    );
  });

  test.each([
    [{ kid: "other" }, 'has "kid" in its unprotected header'],
    [{ crit: [] }, 'has "crit" in its unprotected header'],
    ["text", "has a header that is not an object"],
  ])("in addition to %j is rejected", async (unprotected, reason) => {
    const [signature] = (await signCard(FULL_CARD, [key])).signatures;

    const card = { ...FULL_CARD, signatures: [{ ...signature, header: unprotected }] };
    expect(await reasonOf(card)).toBe(`signatures[0] ${reason}`);
  });

  test("cannot be replaced by an unprotected one", async () => {
    const { privateKey } = key;
    const signature = await forgedSignature({
      card: FULL_CARD,
      header: { alg: "ES256" },
      privateKey,
    });

    const card = { ...FULL_CARD, signatures: [{ ...signature, header: { kid } }] };
    expect(await reasonOf(card)).toMatch("names no kid in its protected header");
  });

  test("may be accompanied by an unprotected one with other fields", async () => {
    const [signature] = (await signCard(FULL_CARD, [key])).signatures;

    const card = { ...FULL_CARD, signatures: [{ ...signature, header: { note: "hello" } }] };
    expect(await verifyCard(card, trusted)).toMatchObject({ kind: "valid" });
  });
});

describe("signatures", () => {
  test.each([
    ["an object", {}, "card.signatures must be an array"],
    ["too many", Array(33).fill({}), "card.signatures has more than 32 entries"],
    ["null", [null], "signatures[0] must have the strings protected and signature"],
    ["a text", ["e30..AA"], "signatures[0] must have the strings protected and signature"],
    [
      "numbers",
      [{ protected: 1, signature: 2 }],
      "signatures[0] must have the strings protected and signature",
    ],
  ])("that are %s are invalid", async (_, signatures, reason) => {
    expect(await reasonOf({ ...FULL_CARD, signatures })).toBe(reason);
  });

  test.each(["", "AA", "AA==", "not base64!"])("of %j are invalid", async (signature) => {
    const [good] = (await signCard(FULL_CARD, [key])).signatures;

    const card = { ...FULL_CARD, signatures: [{ ...good, signature }] };
    expect(await verifyCard(card, trusted)).toMatchObject({ kind: "invalid" });
  });

  test("of which one verifies are enough, in any order", async () => {
    const [good] = (await signCard(FULL_CARD, [key])).signatures;
    const [wrong] = (await signCard(guarded, [key])).signatures;
    const [unknown] = (await signCard(FULL_CARD, [other])).signatures;

    for (const signatures of [
      [good, wrong, unknown, null],
      [null, unknown, wrong, good],
    ]) {
      expect(await verifyCard({ ...FULL_CARD, signatures }, trusted)).toMatchObject({
        kind: "valid",
      });
    }
    expect(await reasonOf({ ...FULL_CARD, signatures: [wrong, unknown] })).toBe(
      `signatures[0] is not by the key "${key.kid}" over this card; ` +
        `signatures[1] is by the unknown key "${other.kid}"`,
    );
  });
});

describe("signing is rejected", () => {
  test.each([
    ["without keys", FULL_CARD, [], "keys must contain at least one key"],
    ["with a key without an id", FULL_CARD, [{ ...key, kid: "" }], "keys[0].kid must be a string"],
    [
      "with an unknown algorithm",
      FULL_CARD,
      [key, { ...key, alg: "HS256" as CardAlgorithm }],
      "keys[1].alg must be one of ES256, ES384, EdDSA, RS256, PS256",
    ],
    [
      "with a key of another kind",
      FULL_CARD,
      [{ ...rsa, alg: "ES256" as const }],
      "keys[0].privateKey must be an EC key on the curve P-256 for ES256",
    ],
    [
      "with a public key",
      FULL_CARD,
      [{ ...key, privateKey: trusted.keys[0] ?? {} }],
      'keys[0].privateKey must be a private key; it has no "d"',
    ],
    ["of an invalid card", { name: 5 }, [key], "card.name must be a string"],
    ["next to invalid signatures", { signatures: {} }, [key], "card.signatures must be an array"],
    ["of text that UTF-8 cannot represent", { name: "\ud800" }, [key], "half of a surrogate pair"],
  ])("%s", async (_, card, keys, message) => {
    await expect(signCard(card, keys)).rejects.toThrow(TypeError);
    await expect(signCard(card, keys)).rejects.toThrow(message);
  });
});

async function aKey(alg: CardAlgorithm): Promise<CardKey> {
  const { kid, privateKey } = await generateCardKey(alg);
  return { kid, alg, privateKey };
}

async function reasonOf(card: object): Promise<string> {
  const verdict = await verifyCard(card, trusted);
  return verdict.kind === "invalid" ? verdict.reason : verdict.kind;
}

function headerOf(signature: AgentCardSignature | undefined): unknown {
  return JSON.parse(new TextDecoder().decode(decodeBase64Url(signature?.protected ?? "")));
}

function unsigned(card: object): object {
  const { signatures: _, ...content } = card as { signatures?: unknown };
  return content;
}

/** A different value of the same type, and not an empty one. */
function another(leaf: unknown): unknown {
  switch (typeof leaf) {
    case "string":
      return `${leaf}x`;
    case "number":
      return leaf === 0 ? 1 : -leaf;
    case "boolean":
      return !leaf;
    default:
      return "x";
  }
}

/** The same with all keys in the opposite order. */
function backwards(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(backwards);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toReversed();
  return Object.fromEntries(entries.map(([key, member]) => [key, backwards(member)]));
}
