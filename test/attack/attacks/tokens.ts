import { createHmac, generateKeyPairSync } from "node:crypto";
import { type Attack, type AttackFamily, fellIf, needed } from "../attack.ts";
import type { Target } from "../target.ts";
import { type TokenIssuer, type TokenOptions, signWith } from "../token-issuer.ts";
import { Caller, UNKNOWN_ID, isUnauthorized, mainInterface } from "../wire/a2a.ts";
import { rejectedEverywhere } from "../wire/rejection.ts";
import { type Trap, openTrap } from "../wire/trap.ts";

/** A token that the issuer has not made; it must not be accepted. */
function forged(
  id: string,
  sentence: string,
  forge: (issuer: TokenIssuer, trap: Trap) => readonly (TokenOptions | string)[],
): Attack {
  return {
    id,
    sentence,
    run: async (target) => {
      const issuer = needed(target.issuer, "tokens of an issuer");
      await using trap = await openTrap();
      for (const options of forge(issuer, trap)) {
        const token = typeof options === "string" ? options : issuer.token(options);
        await rejected(target, token);
      }
      fellIf(trap.visits.length > 0, "the server fetched an address from the token");
    },
  };
}

async function rejected(target: Target, token: string): Promise<void> {
  const at = [
    mainInterface(target),
    ...target.interfaces.filter(({ binding }) => binding === "grpc"),
  ];
  for (const one of at) {
    const answer = await new Caller(one, { authorization: `Bearer ${token}` }).get(UNKNOWN_ID);
    const where = `${one.binding} ${one.version}`;
    fellIf(!isUnauthorized(answer), `${where} accepted it: ${answer.text.slice(0, 100)}`);
  }
}

const nothing = (): Uint8Array => new Uint8Array();
const hmac =
  (key: string | Uint8Array) =>
  (input: string): Uint8Array =>
    createHmac("sha256", key).update(input).digest();

/** A key pair of the attacker. */
function ownKey() {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = publicKey.export({ format: "jwk" });
  return { jwk, signature: (input: string) => signWith(privateKey, input) };
}

const HOUR = 3600;
const now = (): number => Math.floor(Date.now() / 1000);

export const TOKENS: AttackFamily = {
  title: "Tokens and keys",
  attacks: [
    forged("jwt-none", 'Send a token with the algorithm "none", in several spellings.', () =>
      ["none", "None", "NONE", "nOnE", ""].map((alg) => ({ header: { alg }, signature: nothing })),
    ),
    forged("jwt-unsigned", "Send a token without its signature.", (issuer) => {
      const [header, claims] = issuer.token().split(".");
      return [`${header}.${claims}.`, `${header}.${claims}`, `${header}.${claims}..`];
    }),
    forged(
      "jwt-public-key-as-secret",
      "Sign with HS256 and the public key as the secret.",
      (issuer) =>
        [issuer.publicPem, issuer.publicPem.trim(), JSON.stringify(issuer.keySet.keys[0]), ""].map(
          (key) => ({ header: { alg: "HS256" }, signature: hmac(key) }),
        ),
    ),
    forged("jwt-changed-claims", "Change the subject of a signed token.", (issuer) => {
      const [header, , signature] = issuer.token().split(".");
      const [, other] = issuer.token({ claims: { sub: "root" } }).split(".");
      return [`${header}.${other}.${signature}`];
    }),
    forged(
      "jwt-zero-signature",
      "Sign with zeros, which faulty curve code accepts for everything.",
      () => [{ signature: () => new Uint8Array(64) }],
    ),
    forged("jwt-other-key", "Sign with a key of one's own under the id of the trusted key.", () => [
      { signature: ownKey().signature },
    ]),
    forged("jwt-kid", "Let the key id point to a file or into a query.", () =>
      ["../../../../dev/null", "/dev/null", "' UNION SELECT '' --", "key-1\0", "__proto__"].flatMap(
        (kid) => [
          { header: { kid, alg: "HS256" }, signature: hmac("") },
          { header: { kid }, signature: ownKey().signature },
        ],
      ),
    ),
    forged("jwt-embedded-key", "Embed the key that verifies the token.", () => {
      const { jwk, signature } = ownKey();
      return [
        { header: { jwk }, signature },
        { header: { jwk, kid: undefined }, signature },
      ];
    }),
    forged(
      "jwt-jku",
      "Let the server fetch the key set from an address in the token.",
      (_, trap) => [
        {
          header: { jku: `http://127.0.0.1:${trap.port}/jwks.json`, kid: "mine" },
          signature: ownKey().signature,
        },
      ],
    ),
    forged(
      "jwt-x5u",
      "Let the server fetch a certificate from an address in the token.",
      (_, trap) => [
        {
          header: { x5u: `http://127.0.0.1:${trap.port}/cert.pem`, x5c: ["AAAA"], kid: "mine" },
          signature: ownKey().signature,
        },
      ],
    ),
    forged("jwt-critical", "Name a critical extension that the server cannot know.", () => [
      { header: { crit: ["evil"], evil: true } },
    ]),
    forged("jwt-expired", "Use an expired token.", () => [{ claims: { exp: now() - HOUR } }]),
    forged("jwt-early", "Use a token before it is valid.", () => [
      { claims: { nbf: now() + HOUR } },
    ]),
    forged("jwt-audience", "Use a token for another service.", () => [
      { claims: { aud: "https://other.example" } },
      { claims: { aud: undefined } },
      { claims: { aud: ["https://agent.example.evil.example"] } },
    ]),
    forged("jwt-issuer", "Use a token of another issuer.", () => [
      { claims: { iss: "https://issuer.example.evil.example" } },
      { claims: { iss: "https://issuer.example/" } },
      { claims: { iss: undefined } },
    ]),
    forged("jwt-odd-claims", "Give claims the wrong types.", () => [
      { claims: { exp: "9999999999" } },
      { claims: { exp: null } },
      { claims: { aud: { "https://agent.example": true } } },
    ]),
    forged("jwt-garbage", "Send texts that only look like a token.", () => [
      "a.b.c",
      "...",
      `${"A".repeat(7000)}.${"A".repeat(100)}.x`,
      `${btoa('{"alg":"ES256"')}.e30.x`,
      `${".".repeat(3000)}`,
    ]),
    ...["revoked", "rotated", "expired"].map((state): Attack => ({
      id: `key-${state}`,
      sentence: `Call with an API key that was ${state === "expired" ? "valid until a moment ago" : state}.`,
      run: async (target) => {
        const headers = needed(target.retired?.[state], "API keys");
        await rejectedEverywhere(target, headers);
      },
    })),
    {
      id: "tenant-replay",
      sentence: "Use the credentials of one tenant in another tenant.",
      run: async (target) => {
        const headers = needed(target.tenant, "tenants");
        const { url, version } = mainInterface(target);
        const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] };
        const calls = [
          { method: "SendMessage", params: { tenant: "south", message } },
          { method: "ListTasks", params: { tenant: "south" } },
        ];
        for (const call of calls) {
          const response = await fetch(url, {
            method: "POST",
            headers: { ...headers, "content-type": "application/json", "a2a-version": version },
            body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...call }),
          });
          const text = await response.text();
          fellIf(text.includes('"result"'), `${call.method} was performed in tenant south`);
        }
        const listed = await fetch(new URL("south/tasks", target.url), {
          headers: { ...headers, "a2a-version": version },
        });
        fellIf(listed.ok, "the tasks of tenant south were listed");
      },
    },
  ],
};
