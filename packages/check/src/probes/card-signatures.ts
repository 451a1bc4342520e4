import { type CardPublicKey, type CardSignatureHeader, verifyCard } from "@convoke/protocol";
import { must, should } from "../claim.ts";
import type { CardProbe } from "../probe.ts";
import type { FoundCard } from "../read-card.ts";
import type { CardScene } from "../scene/card-scene.ts";
import { Skipped } from "../verdict.ts";
import { isObject, listAt, parseJson, textAt } from "../wire/json.ts";

/** Cards that are signed. */
export const CARD_SIGNATURES: readonly CardProbe[] = [
  {
    name: "protected-header",
    says: "Each signature names its algorithm and its key.",
    claim: must("v1-S61", "§8.4.2"),
    async run(scene) {
      const card = signed(scene);
      for (const header of headersIn(card)) {
        const isWhole = textAt(header, "alg") !== "" && textAt(header, "kid") !== "";
        scene.expect(isWhole, "alg and kid in each protected header", card.exchange);
      }
    },
  },
  {
    name: "type",
    says: "Each signature says that it is JOSE.",
    claim: should("v1-S61", "§8.4.2"),
    async run(scene) {
      const card = signed(scene);
      const types = headersIn(card).map((header) => textAt(header, "typ"));
      scene.expect(
        types.every((type) => type === "JOSE"),
        'typ "JOSE"',
        card.exchange,
      );
    },
  },
  {
    name: "verifies",
    says: "A signature verifies by the keys that it names.",
    claim: must("v1-S61", "§8.4.3"),
    async run(scene) {
      const card = signed(scene);
      const absent: string[] = [];
      const keys = (header: CardSignatureHeader) => keysOf(scene, header, absent);
      const verdict = await verifyCard(card.json, { keys });
      if (verdict.kind === "invalid" && absent[0] !== undefined) throw new Skipped(absent[0]);
      const why = verdict.kind === "invalid" ? verdict.reason : verdict.kind;
      scene.expect(
        verdict.kind === "valid",
        `a signature that verifies, but ${why}`,
        card.exchange,
      );
    },
  },
];

function signed(scene: CardScene): FoundCard {
  const card = scene.form("1.0");
  if (listAt(card.json, "signatures").length === 0) throw new Skipped("the card is not signed");
  return card;
}

function headersIn({ json }: FoundCard): readonly unknown[] {
  return listAt(json, "signatures").map((entry) => {
    const bytes = Buffer.from(textAt(entry, "protected"), "base64url");
    return parseJson(bytes.toString("utf8"));
  });
}

/** The keys at the address that the signature names, where that is the server itself; or why none. */
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
