import { may, should } from "../claim.ts";
import type { CardProbe } from "../probe.ts";
import type { FoundCard } from "../read-card.ts";
import { type Exchange, Failed, Skipped, about } from "../verdict.ts";

/** How a card is cached, and what it must not hold. */
export const CARD_CACHING: readonly CardProbe[] = [
  {
    name: "cache-control",
    says: "The card says how long it may be kept.",
    claim: should("v1-S4", "§8.6.1"),
    async run(scene) {
      const current = scene.form("1.0");
      const value = current.headers.get("cache-control") ?? "";
      scene.expect(/max-age=\d+/.test(value), "a Cache-Control with max-age", headersOf(current));
    },
  },
  {
    name: "etag",
    says: "The card has an ETag.",
    claim: should("v1-S4", "§8.6.1"),
    async run(scene) {
      const current = scene.form("1.0");
      scene.expect(current.headers.has("etag"), "an ETag", headersOf(current));
    },
  },
  {
    name: "last-modified",
    says: "The card says when it was changed last.",
    claim: may("v1-S4", "§8.6.1"),
    async run(scene) {
      const current = scene.form("1.0");
      const value = current.headers.get("last-modified") ?? "";
      scene.expect(
        !Number.isNaN(Date.parse(value)),
        "a Last-Modified with a date",
        headersOf(current),
      );
    },
  },
  {
    name: "not-modified",
    says: "Who has the card already is told so, by 304.",
    claim: should("v1-S4", "§8.6.1"),
    async run(scene) {
      const current = scene.form("1.0");
      const etag = current.headers.get("etag");
      if (etag === null) throw new Skipped("the card has no ETag");
      const { status } = await scene.get(current.url, { "if-none-match": etag });
      if (status !== 304) throw new Failed("304 for the ETag that was just given");
    },
  },
  {
    name: "vary",
    says: "A card that depends on the version says so, or caches would mix them up.",
    claim: should("v1-S4", "§8.6.1"),
    async run(scene) {
      const current = scene.form("1.0");
      const { plain } = scene.cards;
      if (plain !== undefined && JSON.stringify(plain.json) === JSON.stringify(current.json)) {
        throw new Skipped("the card is the same for all versions");
      }
      const vary = current.headers.get("vary")?.toLowerCase() ?? "";
      scene.expect(/a2a-version|\*/.test(vary), "Vary: A2A-Version", headersOf(current));
    },
  },
  {
    name: "no-secret",
    says: "The card does not hold the credentials of its callers.",
    claim: should("v1-S4", "§14.3"),
    async run(scene) {
      const secrets = Object.values(scene.settings.credentials).map((value) =>
        value.replace(/^\S+ /, ""),
      );
      if (secrets.length === 0) throw new Skipped("no credentials were given: --token <token>");
      const current = scene.form("1.0");
      const text = JSON.stringify(current.json);
      const isTold = secrets.some((secret) => text.includes(secret));
      if (!isTold) return;
      // What it says is not shown: the secret is in it.
      throw new Failed("a card without them", about(current.exchange, "a card that holds them"));
    },
  },
];

/** The answer as its headers alone. */
function headersOf({ headers, exchange }: FoundCard): Exchange {
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  return about(exchange, `200 (${lines.join(", ")})`);
}
