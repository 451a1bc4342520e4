import { describe, expect, test } from "vitest";
import { generateCardKey, publicKeySet, thumbprint } from "./card-key.ts";

/** The key of RFC 7638 §3.1. */
const RFC_7638 = {
  kty: "RSA",
  n:
    "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECP" +
    "ebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY" +
    "368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0f" +
    "M4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
  e: "AQAB",
  alg: "RS256",
  kid: "2011-04-29",
};

/** The key of RFC 8037 A.3. */
const RFC_8037 = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };

test("the id of a key is its thumbprint, as the RFCs compute it", async () => {
  expect(await thumbprint(RFC_7638)).toBe("NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
  expect(await thumbprint(RFC_8037)).toBe("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
});

describe.each(["ES256", "ES384", "EdDSA", "RS256", "PS256"] as const)("a new key for %s", (alg) => {
  test("has a public half with its id and use, and without its secret", async () => {
    const { privateKey, publicKey, kid } = await generateCardKey(alg);

    expect(privateKey.d).toMatch(/./);
    expect(publicKey).toMatchObject({ kid, alg, use: "sig" });
    expect(await thumbprint(publicKey)).toBe(kid);
    for (const secret of ["d", "p", "q", "dp", "dq", "qi"]) {
      expect(publicKey).not.toHaveProperty(secret);
    }
    expect(publicKeySet([{ kid, alg, privateKey }])).toEqual({ keys: [publicKey] });
  });
});

test("a key set with a mismatched key gets an error that names the key", async () => {
  const good = { alg: "ES256", ...(await generateCardKey()) } as const;
  const bad = { ...good, alg: "RS256" } as const;

  expect(() => publicKeySet([good, bad])).toThrow(
    "keys[1].privateKey must be an RSA key for RS256",
  );
});
