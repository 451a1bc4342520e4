import type { ProtocolVersion } from "@convoke/protocol";
import type { FoundCard } from "../read-card.ts";
import type { CheckSettings } from "../settings.ts";
import { type Exchange, Failed, Skipped } from "../verdict.ts";
import type { WireHeaders } from "../wire/call.ts";
import { type HttpReply, requestHttp } from "../wire/http.ts";
import type { JsonObject } from "../wire/json.ts";
import type { Transcript } from "../wire/transcript.ts";

/** The card as it is shown to those who say 1.0, and to those who say nothing. */
export interface Cards {
  readonly current: FoundCard;
  readonly plain: FoundCard | undefined;
}

/** Where a probe of the card takes place. */
export class CardScene {
  readonly cards: Cards;
  readonly settings: CheckSettings;
  readonly transcript: Transcript;
  readonly #signal: AbortSignal;

  constructor(
    cards: Cards,
    settings: CheckSettings,
    { signal, transcript }: { readonly signal: AbortSignal; readonly transcript: Transcript },
  ) {
    this.cards = cards;
    this.settings = settings;
    this.transcript = transcript;
    this.#signal = signal;
  }

  /** The card in the form of that version. */
  form(version: ProtocolVersion): FoundCard {
    const card = cardOfForm(this.cards, version);
    if (card === undefined) throw new Skipped(`the card has no form of ${version}`);
    return card;
  }

  /** Fails about a card that came before the probe began. */
  expect(isGood: boolean, expected: string, exchange: Exchange): void {
    if (!isGood) throw new Failed(expected, exchange);
  }

  /** Reads something at the origin of the card. */
  get(url: string, headers: WireHeaders = {}): Promise<HttpReply> {
    const { signal, transcript } = { signal: this.#signal, transcript: this.transcript };
    const all = { ...this.settings.credentials, "a2a-version": "1.0", ...headers };
    return requestHttp({ method: "GET", url, headers: all, signal, transcript });
  }
}

/** The card that has the words of that version, as whoever speaks it would get it. */
export function cardOfForm(
  { current, plain }: Cards,
  version: ProtocolVersion,
): FoundCard | undefined {
  const isOfForm = version === "1.0" ? isV1 : isV03;
  const order = version === "1.0" ? [current, plain] : [plain, current];
  return order.find((card) => card !== undefined && isOfForm(card.json));
}

function isV1(card: JsonObject): boolean {
  return Array.isArray(card["supportedInterfaces"]);
}

function isV03(card: JsonObject): boolean {
  return typeof card["url"] === "string";
}
