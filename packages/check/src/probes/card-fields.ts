import { interfacesOf } from "@convoke/client";
import { must, should } from "../claim.ts";
import type { CardProbe } from "../probe.ts";
import { type FoundCard, isWellKnown } from "../read-card.ts";
import type { CardScene } from "../scene/card-scene.ts";
import { Skipped, about } from "../verdict.ts";
import { type JsonObject, at, isObject, listAt, textAt } from "../wire/json.ts";

const TEXTS = ["name", "description", "version"];
const LISTS = ["defaultInputModes", "defaultOutputModes", "skills"];

/** The members of which a scheme of 1.0 has exactly one (§4.5.1). */
const SCHEMES = [
  "apiKeySecurityScheme",
  "httpAuthSecurityScheme",
  "oauth2SecurityScheme",
  "openIdConnectSecurityScheme",
  "mtlsSecurityScheme",
];

/** What a card must say. */
export const CARD_FIELDS: readonly CardProbe[] = [
  {
    name: "well-known",
    says: "The card is at /.well-known/agent-card.json.",
    claim: must("v1-S1", "§8.2, §14.3"),
    async run(scene) {
      judgePlace(scene, scene.form("1.0"));
    },
  },
  {
    name: "well-known",
    says: "The card is at /.well-known/agent-card.json.",
    claim: should("v03-S2", "§5.3"),
    async run(scene) {
      judgePlace(scene, scene.form("0.3"));
    },
  },
  {
    name: "declares",
    says: "The card declares where the agent is spoken to.",
    claim: must("v1-S2", "§5.2, §8.3"),
    async run(scene) {
      const { current, plain } = scene.cards;
      const offers = [current, plain].flatMap((card) => (card ? interfacesOf(card.json) : []));
      scene.expect(offers.length > 0, "at least one interface", current.exchange);
    },
  },
  {
    name: "required-fields",
    says: "The card has all that a card of 1.0 must have.",
    claim: must("v1-S1", "§4.4.1"),
    async run(scene) {
      const card = scene.form("1.0");
      const missing = [...missingIn(card.json), ...missingInterfaces(card.json)];
      scene.expect(missing.length === 0, `${missing.join(", ")} on the card`, card.exchange);
    },
  },
  {
    name: "required-lists",
    says: "The lists that a card must have are not empty.",
    claim: must("v1-S46", "§5.7"),
    async run(scene) {
      const card = scene.form("1.0");
      const empty = [...LISTS, "supportedInterfaces"].filter(
        (name) => listAt(card.json, name).length === 0,
      );
      scene.expect(empty.length === 0, `something in ${empty.join(", ")}`, card.exchange);
    },
  },
  {
    name: "security-schemes",
    says: "Each security scheme has exactly one of the members that 1.0 names.",
    claim: must("v1-S44", "§4.5.1, §5.5"),
    async run(scene) {
      const card = scene.form("1.0");
      const schemes = at(card.json, "securitySchemes");
      if (!isObject(schemes) || Object.keys(schemes).length === 0) {
        throw new Skipped("the card declares no security schemes");
      }
      for (const [name, scheme] of Object.entries(schemes)) {
        const members = SCHEMES.filter((member) => isObject(at(scheme, member)));
        const expected = `one of ${SCHEMES.join(", ")} in securitySchemes.${name}`;
        const shown = `securitySchemes.${name}: ${JSON.stringify(scheme)}`;
        scene.expect(members.length === 1, expected, about(card.exchange, shown));
      }
    },
  },
  {
    name: "required-fields",
    says: "The card has all that a card of 0.3 must have.",
    claim: must("v03-S2", "§5.5"),
    async run(scene) {
      const card = scene.form("0.3");
      const missing = [
        ...missingIn(card.json),
        ...["url", "protocolVersion"].filter((name) => textAt(card.json, name) === ""),
      ];
      scene.expect(missing.length === 0, `${missing.join(", ")} on the card`, card.exchange);
    },
  },
  {
    name: "preferred-transport",
    says: "The card says which transport is at its url.",
    claim: should("v03-S3", "§5.6.1"),
    async run(scene) {
      const card = scene.form("0.3");
      scene.expect(
        textAt(card.json, "preferredTransport") !== "",
        "a preferredTransport",
        card.exchange,
      );
    },
  },
  {
    name: "main-is-listed",
    says: "The additional interfaces have the main one among them.",
    claim: should("v03-S3", "§5.6.2"),
    async run(scene) {
      judgeMain(scene);
    },
  },
];

function judgePlace(scene: CardScene, { url, exchange }: FoundCard): void {
  const isGiven = new URL(scene.settings.url).pathname.endsWith(".json");
  if (isGiven) throw new Skipped("the address of the card was given");
  scene.expect(isWellKnown(url), "a card at /.well-known/agent-card.json", exchange);
}

function judgeMain(scene: CardScene): void {
  const card = scene.form("0.3");
  const others = listAt(card.json, "additionalInterfaces");
  if (others.length === 0) throw new Skipped("the card has no additional interfaces");
  const transport = textAt(card.json, "preferredTransport") || "JSONRPC";
  const isMain = (entry: unknown): boolean =>
    textAt(entry, "url") === card.json["url"] && textAt(entry, "transport") === transport;
  const expected = `${transport} at ${String(card.json["url"])} among them`;
  const shown = `additionalInterfaces: ${JSON.stringify(others)}`;
  scene.expect(others.some(isMain), expected, about(card.exchange, shown));
}

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
