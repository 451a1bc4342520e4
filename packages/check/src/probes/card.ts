import { listInterfaces } from "@convoke/client";
import { type CardProbe, may, must, should } from "./probe.ts";
import { type CardScene, type FetchedCard, isWellKnown } from "../scene/card.ts";
import { type Exchange, Failed, Skipped, withReceived } from "../wire/exchange.ts";
import { type JsonObject, isObject } from "@convoke/protocol/internal";
import { at, listAt, parseJson, textAt } from "../wire/json.ts";
import { type CardPublicKey, type CardSignatureHeader, verifyCard } from "@convoke/protocol";

/** Addresses to listen on, not to connect to. */
const UNSPECIFIED = ["0.0.0.0", "[::]"];

const LOOPBACK = /^(localhost|127\..*|\[::1\])$/;

/** The host of an interface; a gRPC address may be just a host and a port. */
function hostnameOf(url: string, cardUrl: string): string {
  const whole = url.includes("://") || url.startsWith("/") ? url : `http://${url}`;
  return URL.canParse(whole, cardUrl) ? new URL(whole, cardUrl).hostname : "";
}

const LISTS = ["defaultInputModes", "defaultOutputModes", "skills"];

/** A security scheme of 1.0 has exactly one of these members (§4.5.1). */
const SCHEMES = [
  "apiKeySecurityScheme",
  "httpAuthSecurityScheme",
  "oauth2SecurityScheme",
  "openIdConnectSecurityScheme",
  "mtlsSecurityScheme",
];

/** Required fields of a card. */
export const CARD_FIELDS: readonly CardProbe[] = [
  {
    name: "well-known",
    says: "The card is at /.well-known/agent-card.json.",
    claim: must("v1-S1", "§8.2, §14.3"),
    async run(scene) {
      expectWellKnown(scene, scene.cardForVersion("1.0"));
    },
  },
  {
    name: "well-known",
    says: "The card is at /.well-known/agent-card.json.",
    claim: should("v03-S2", "§5.3"),
    async run(scene) {
      expectWellKnown(scene, scene.cardForVersion("0.3"));
    },
  },
  {
    name: "declares",
    says: "The card declares at least one interface.",
    claim: must("v1-S2", "§5.2, §8.3"),
    async run(scene) {
      const { current, plain } = scene.cards;
      const offers = [current, plain].flatMap((card) => (card ? listInterfaces(card.json) : []));
      scene.expect(offers.length > 0, "at least one interface", current.exchange);
    },
  },
  {
    name: "reachable",
    says: "No interface has an address that only the machine of the server can reach.",
    claim: must("v1-S2", "§5.2, §8.3"),
    async run(scene) {
      const { current } = scene.cards;
      const isLocalCard = LOOPBACK.test(new URL(current.url).hostname);
      const wrong = listInterfaces(current.json)
        .map(({ url }) => url)
        .filter((url) => {
          const host = hostnameOf(url, current.url);
          return UNSPECIFIED.includes(host) || (!isLocalCard && LOOPBACK.test(host));
        });
      scene.expect(
        wrong.length === 0,
        `public addresses, not ${wrong.join(", ")}`,
        current.exchange,
      );
    },
  },
  {
    name: "required-fields",
    says: "The card has all required fields of 1.0.",
    claim: must("v1-S1", "§4.4.1"),
    async run(scene) {
      const card = scene.cardForVersion("1.0");
      const missing = [...missingIn(card.json), ...missingInterfaces(card.json)];
      scene.expect(missing.length === 0, `${missing.join(", ")} on the card`, card.exchange);
    },
  },
  {
    name: "required-lists",
    says: "The required lists of the card are not empty.",
    claim: must("v1-S46", "§5.7"),
    async run(scene) {
      const card = scene.cardForVersion("1.0");
      const empty = [...LISTS, "supportedInterfaces"].filter(
        (name) => listAt(card.json, name).length === 0,
      );
      scene.expect(empty.length === 0, `entries in ${empty.join(", ")}`, card.exchange);
    },
  },
  {
    name: "security-schemes",
    says: "Each security scheme has exactly one of the members that 1.0 names.",
    claim: must("v1-S44", "§4.5.1, §5.5"),
    async run(scene) {
      const card = scene.cardForVersion("1.0");
      const schemes = at(card.json, "securitySchemes");
      if (!isObject(schemes) || Object.keys(schemes).length === 0) {
        throw new Skipped("the card declares no security schemes");
      }
      for (const [name, scheme] of Object.entries(schemes)) {
        const members = SCHEMES.filter((member) => isObject(at(scheme, member)));
        const expected = `one of ${SCHEMES.join(", ")} in securitySchemes.${name}`;
        const shown = `securitySchemes.${name}: ${JSON.stringify(scheme)}`;
        scene.expect(members.length === 1, expected, withReceived(card.exchange, shown));
      }
    },
  },
  {
    name: "required-fields",
    says: "The card has all required fields of 0.3.",
    claim: must("v03-S2", "§5.5"),
    async run(scene) {
      const card = scene.cardForVersion("0.3");
      const missing = [
        ...missingIn(card.json),
        ...["url", "protocolVersion"].filter((name) => textAt(card.json, name) === ""),
      ];
      scene.expect(missing.length === 0, `${missing.join(", ")} on the card`, card.exchange);
    },
  },
  {
    name: "preferred-transport",
    says: "The card names the transport of its url.",
    claim: should("v03-S3", "§5.6.1"),
    async run(scene) {
      const card = scene.cardForVersion("0.3");
      scene.expect(
        textAt(card.json, "preferredTransport") !== "",
        "a preferredTransport",
        card.exchange,
      );
    },
  },
  {
    name: "main-is-listed",
    says: "The additional interfaces include the main one.",
    claim: should("v03-S3", "§5.6.2"),
    async run(scene) {
      expectMainListed(scene);
    },
  },
];

function expectWellKnown(scene: CardScene, { url, exchange }: FetchedCard): void {
  const isGiven = new URL(scene.settings.url).pathname.endsWith(".json");
  if (isGiven) throw new Skipped("the address of the card was given directly");
  scene.expect(isWellKnown(url), "a card at /.well-known/agent-card.json", exchange);
}

function expectMainListed(scene: CardScene): void {
  const card = scene.cardForVersion("0.3");
  const others = listAt(card.json, "additionalInterfaces");
  if (others.length === 0) throw new Skipped("the card has no additional interfaces");
  const transport = textAt(card.json, "preferredTransport") || "JSONRPC";
  const isMain = (entry: unknown): boolean =>
    textAt(entry, "url") === card.json["url"] && textAt(entry, "transport") === transport;
  const expected = `${transport} at ${String(card.json["url"])} among them`;
  const shown = `additionalInterfaces: ${JSON.stringify(others)}`;
  scene.expect(others.some(isMain), expected, withReceived(card.exchange, shown));
}

const TEXTS = ["name", "description", "version"];

function missingIn(card: JsonObject): readonly string[] {
  return [
    ...TEXTS.filter((name) => textAt(card, name) === ""),
    ...LISTS.filter((name) => !Array.isArray(card[name])),
    ...(isObject(card["capabilities"]) ? [] : ["capabilities"]),
    ...listAt(card, "skills").flatMap((skill, index) => [
      ...["id", "name", "description"]
        .filter((name) => textAt(skill, name) === "")
        .map((name) => `skills[${index}].${name}`),
      ...(Array.isArray(at(skill, "tags")) ? [] : [`skills[${index}].tags`]),
    ]),
  ];
}

function missingInterfaces(card: JsonObject): readonly string[] {
  return listAt(card, "supportedInterfaces").flatMap((entry, index) =>
    ["url", "protocolBinding", "protocolVersion"]
      .filter((name) => textAt(entry, name) === "")
      .map((name) => `supportedInterfaces[${index}].${name}`),
  );
}

/** How a card is cached, and what it must not contain. */
export const CARD_CACHING: readonly CardProbe[] = [
  {
    name: "cache-control",
    says: "The card has a Cache-Control header with max-age.",
    claim: should("v1-S4", "§8.6.1"),
    async run(scene) {
      const current = scene.cardForVersion("1.0");
      const value = current.headers.get("cache-control") ?? "";
      scene.expect(/max-age=\d+/.test(value), "a Cache-Control with max-age", onlyHeaders(current));
    },
  },
  {
    name: "etag",
    says: "The card has an ETag.",
    claim: should("v1-S4", "§8.6.1"),
    async run(scene) {
      const current = scene.cardForVersion("1.0");
      scene.expect(current.headers.has("etag"), "an ETag", onlyHeaders(current));
    },
  },
  {
    name: "last-modified",
    says: "The card has a Last-Modified header.",
    claim: may("v1-S4", "§8.6.1"),
    async run(scene) {
      const current = scene.cardForVersion("1.0");
      const value = current.headers.get("last-modified") ?? "";
      scene.expect(
        !Number.isNaN(Date.parse(value)),
        "a Last-Modified with a date",
        onlyHeaders(current),
      );
    },
  },
  {
    name: "not-modified",
    says: "A conditional request for an unchanged card returns 304.",
    claim: should("v1-S4", "§8.6.1"),
    async run(scene) {
      const current = scene.cardForVersion("1.0");
      const etag = current.headers.get("etag");
      if (etag === null) throw new Skipped("the card has no ETag");
      const { status } = await scene.get(current.url, { "if-none-match": etag });
      if (status !== 304) throw new Failed("304 for the ETag of the card");
    },
  },
  {
    name: "vary",
    says: "A card that depends on the requested version says so in Vary, so that caches keep the forms apart.",
    claim: should("v1-S4", "§8.6.1"),
    async run(scene) {
      const current = scene.cardForVersion("1.0");
      const { plain } = scene.cards;
      if (plain !== undefined && JSON.stringify(plain.json) === JSON.stringify(current.json)) {
        throw new Skipped("the card is the same for all versions");
      }
      const vary = current.headers.get("vary")?.toLowerCase() ?? "";
      scene.expect(/a2a-version|\*/.test(vary), "Vary: A2A-Version", onlyHeaders(current));
    },
  },
  {
    name: "no-secret",
    says: "The card does not contain the credentials of its callers.",
    claim: should("v1-S4", "§14.3"),
    async run(scene) {
      const secrets = Object.values(scene.settings.credentials).map((value) =>
        value.replace(/^\S+ /, ""),
      );
      if (secrets.length === 0)
        throw new Skipped("no credentials were given (option: credentials)");
      const current = scene.cardForVersion("1.0");
      const text = JSON.stringify(current.json);
      const isTold = secrets.some((secret) => text.includes(secret));
      if (!isTold) return;
      // The card itself is not reported, because it contains the secret.
      throw new Failed(
        "a card without credentials",
        withReceived(current.exchange, "a card that contains credentials"),
      );
    },
  },
];

/** The response, reduced to its headers. */
function onlyHeaders({ headers, exchange }: FetchedCard): Exchange {
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  return withReceived(exchange, `200 (${lines.join(", ")})`);
}

/** Signed cards. */
export const CARD_SIGNATURES: readonly CardProbe[] = [
  {
    name: "protected-header",
    says: "Each signature names its algorithm and key.",
    claim: must("v1-S61", "§8.4.2"),
    async run(scene) {
      const card = signed(scene);
      for (const header of protectedHeaders(card)) {
        const isWhole = textAt(header, "alg") !== "" && textAt(header, "kid") !== "";
        scene.expect(isWhole, "alg and kid in each protected header", card.exchange);
      }
    },
  },
  {
    name: "type",
    says: "Each signature has the type JOSE.",
    claim: should("v1-S61", "§8.4.2"),
    async run(scene) {
      const card = signed(scene);
      const types = protectedHeaders(card).map((header) => textAt(header, "typ"));
      scene.expect(
        types.every((type) => type === "JOSE"),
        'typ "JOSE"',
        card.exchange,
      );
    },
  },
  {
    name: "verifies",
    says: "A signature can be verified with the keys that it refers to.",
    claim: must("v1-S61", "§8.4.3"),
    async run(scene) {
      const card = signed(scene);
      const absent: string[] = [];
      const keys = (header: CardSignatureHeader) => keysOf(scene, header, absent);
      const verdict = await verifyCard(card.json, { keys });
      if (verdict.kind === "invalid" && absent[0] !== undefined) throw new Skipped(absent[0]);
      const why = verdict.kind === "invalid" ? verdict.reason : verdict.kind;
      scene.expect(verdict.kind === "valid", `a valid signature, not: ${why}`, card.exchange);
    },
  },
];

function signed(scene: CardScene): FetchedCard {
  const card = scene.cardForVersion("1.0");
  if (listAt(card.json, "signatures").length === 0) throw new Skipped("the card is not signed");
  return card;
}

function protectedHeaders({ json }: FetchedCard): readonly unknown[] {
  return listAt(json, "signatures").map((entry) => {
    const bytes = Buffer.from(textAt(entry, "protected"), "base64url");
    return parseJson(bytes.toString("utf8"));
  });
}

/** The keys at the URL in the signature, if that is on the same server. Otherwise adds the reason to `absent`. */
async function keysOf(
  scene: CardScene,
  { jku }: CardSignatureHeader,
  absent: string[],
): Promise<readonly CardPublicKey[]> {
  const { origin } = new URL(scene.cards.current.url);
  if (jku === undefined) absent.push("a signature does not say where its key is");
  else if (!URL.canParse(jku) || new URL(jku).origin !== origin) {
    absent.push(`a key is at another origin than the card: ${jku}`);
  } else {
    const { text } = await scene.get(jku);
    return listAt(parseJson(text), "keys").filter(isObject) as readonly CardPublicKey[];
  }
  return [];
}
