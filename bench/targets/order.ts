import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";

/**
 * How an agent works: chunks all at once, one per turn of the event loop, 50 a
 * second, or each only when the last one is out; or no chunks but a question,
 * asked by a run that waits or by one that ends.
 */
export type Manner = "burst" | "turns" | "tokens" | "alone" | "ask" | "end-turn";

/** What a message asks of the agents under measurement. */
export interface Order {
  readonly manner: Manner;
  /** How many chunks. */
  readonly count: number;
  /** Nothing is said before the gate opens. */
  readonly gated?: boolean;
}

/** The order as the text of a message. */
export function orderText({ manner, count, gated = false }: Order): string {
  return `${manner} ${count}${gated ? " gated" : ""}`;
}

export function parseOrder(text: string): Order {
  const [manner, count, gated] = text.split(" ");
  return { manner: manner as Manner, count: Number(count), gated: gated === "gated" };
}

export const TOKENS_PER_SECOND = 50;

/** What the agent waits for after a chunk; nothing in a burst. */
export function pauseAfterChunk({ manner }: Order): Promise<unknown> | undefined {
  if (manner === "burst") return undefined;
  return manner === "tokens" ? sleep(1000 / TOKENS_PER_SECOND) : nextTurn();
}

/** What every target streams: chunks of about 40 bytes. */
export function chunkText(place: number): string {
  return `chunk ${String(place).padStart(6, "0")} of the streamed answer; `;
}

/** What an agent asks that waits for its caller. */
export const QUESTION = "And what then?";

/** What a model says: so many tokens of about six bytes. */
export function tokensOf(count: number): string {
  return Array.from({ length: count }, (_, place) => `t${String(place).padStart(4, "0")} `).join(
    "",
  );
}
