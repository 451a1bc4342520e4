import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";

/**
 * How an agent works: all chunks at once, one per turn of the event loop, 50 a second, or each only
 * after the previous one was sent; or no chunks but a question, asked by a run that waits or by one
 * that ends; or nothing at all until it is canceled.
 */
export type Manner = "burst" | "turns" | "tokens" | "alone" | "ask" | "end-turn" | "wait";

/** What a message asks the agents under measurement to do. */
export interface Order {
  readonly manner: Manner;
  /** How many chunks. */
  readonly count: number;
  /** Nothing is sent before the gate opens. */
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

/** The data that every target streams: chunks of about 40 bytes. */
export function chunkText(place: number): string {
  return `chunk ${String(place).padStart(6, "0")} of the streamed answer; `;
}

/** The question of an agent that waits for its caller. */
export const QUESTION = "And what then?";

/** A task of a model that calls a tool in each of its turns but the last. */
export interface ToolTurns {
  /** How many tool calls. */
  readonly calls: number;
  /** The characters of the message, which the model gets again with each turn. */
  readonly context: number;
}

/** The message of such a task. */
export function toolTurnsText({ calls, context }: ToolTurns): string {
  return `calls ${calls} of ${context} ${"word ".repeat(context / 5)}`;
}

export function parseToolTurns(text: string): ToolTurns | undefined {
  const [, calls, context] = /^calls (\d+) of (\d+)/.exec(text) ?? [];
  return calls === undefined ? undefined : { calls: Number(calls), context: Number(context) };
}

/** A token of a model's answer, of about six bytes. */
export function tokenText(place: number): string {
  return `t${String(place).padStart(4, "0")} `;
}
