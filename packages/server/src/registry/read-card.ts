import type { RegisteredSkill } from "@convoke/protocol";
import { isObject, timeoutSignal } from "@convoke/protocol/internal";
import { type Egress, EgressError } from "@convoke/egress";
import { readText } from "@convoke/egress/http";
import { CARD_PATH } from "../cards/card-binding.ts";

/** What the registry stores of a card. */
export interface CardSummary {
  readonly cardUrl: string;
  readonly name: string;
  readonly description: string;
  readonly skills: readonly RegisteredSkill[];
  /** How long it took to read it. */
  readonly latencyMs: number;
}

/** The card of an agent cannot be read or used. The message is safe to show to callers. */
export class CardProblem extends Error {
  override readonly name = "CardProblem";
  /** Whether there is nothing at the URL. */
  readonly isMissing: boolean;

  constructor(message: string, options: ErrorOptions & { readonly isMissing?: boolean } = {}) {
    super(message, options);
    this.isMissing = options.isMissing === true;
  }
}

interface ReadCardOptions {
  readonly egress: Egress;
  readonly signal: AbortSignal;
}

/** The path of the card before A2A 0.3. */
const OLD_CARD_PATH = "/.well-known/agent.json";

/** A card is a static document: a server that needs longer is not working. */
const TIMEOUT_MS = 10_000;

const MAX_CARD_BYTES = 256 * 1024;

/** Finds the card of the agent at a base URL. Throws a `CardProblem` if there is none. */
export async function findCard(baseUrl: string, options: ReadCardOptions): Promise<CardSummary> {
  const base = baseUrl.replace(/\/$/, "");
  try {
    return await readCard(base + CARD_PATH, options);
  } catch (error) {
    if (!(error instanceof CardProblem && error.isMissing)) throw error;
    return readCard(base + OLD_CARD_PATH, options);
  }
}

/** Reads the card at a URL. Throws a `CardProblem` if there is none. */
export async function readCard(
  cardUrl: string,
  { egress, signal }: ReadCardOptions,
): Promise<CardSummary> {
  const startedAt = performance.now();
  const timeout = timeoutSignal(TIMEOUT_MS);
  const stop = AbortSignal.any([signal, timeout]);
  let status: number;
  let text: string;
  try {
    const headers = { Accept: "application/json" };
    const answer = await egress.request({ url: cardUrl, headers, signal: stop });
    status = answer.status;
    text = await readText(answer, stop, MAX_CARD_BYTES);
  } catch (error) {
    signal.throwIfAborted();
    throw toProblem(error, cardUrl, timeout.aborted);
  }
  if (status !== 200) {
    const problem = `${cardUrl} answered with HTTP ${status}`;
    throw new CardProblem(problem, { isMissing: status === 404 });
  }
  const latencyMs = Math.round(performance.now() - startedAt);
  return { cardUrl, ...parseCard(text, cardUrl), latencyMs };
}

function toProblem(error: unknown, cardUrl: string, isTimeout: boolean): CardProblem {
  const { origin } = new URL(cardUrl);
  if (isTimeout) return new CardProblem(`${origin} did not answer within ${TIMEOUT_MS} ms`);
  const isSafe = error instanceof EgressError && !error.revealsNames;
  const problem = isSafe
    ? error.message
    : `could not reach ${origin}: its name does not exist, its address is not public, or its answer is not a card`;
  return new CardProblem(problem, { cause: error });
}

function parseCard(
  text: string,
  cardUrl: string,
): Pick<CardSummary, "name" | "description" | "skills"> {
  let card: unknown;
  try {
    card = JSON.parse(text);
  } catch {
    // Reported below, like JSON of another type.
  }
  if (!isObject(card)) throw new CardProblem(`${cardUrl} is not a JSON object`);
  const { name, description, skills } = card;
  if (typeof name !== "string" || name.trim() === "") {
    throw new CardProblem(`the card at ${cardUrl} has no name`);
  }
  const isCallable = typeof card["url"] === "string" || isFilled(card["supportedInterfaces"]);
  if (!isCallable) {
    throw new CardProblem(`the card at ${cardUrl} has neither url nor supportedInterfaces`);
  }
  const summary = {
    name: shortened(name, MAX_NAME),
    description: textOf(description, MAX_DESCRIPTION),
    skills: Array.isArray(skills) ? skills.flatMap(toSkill) : [],
  };
  if (JSON.stringify(summary).length <= MAX_SUMMARY_LENGTH) return summary;
  throw new CardProblem(
    `the skills on the card at ${cardUrl} have more than ${MAX_SUMMARY_LENGTH} characters`,
  );
}

const MAX_NAME = 200;

const MAX_DESCRIPTION = 1000;

/** Bounds the size of the whole registry, together with its number of entries. */
const MAX_SUMMARY_LENGTH = 32 * 1024;

function toSkill(skill: unknown): readonly RegisteredSkill[] {
  if (!isObject(skill) || typeof skill["id"] !== "string") return [];
  const { id, name, description, tags } = skill;
  return [
    {
      id: shortened(id, MAX_NAME),
      name: textOf(name, MAX_NAME) || shortened(id, MAX_NAME),
      description: textOf(description, MAX_DESCRIPTION),
      tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [],
    },
  ];
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

function textOf(value: unknown, maxLength: number): string {
  return typeof value === "string" ? shortened(value, maxLength) : "";
}

function shortened(text: string, maxLength: number): string {
  return text.slice(0, maxLength).toWellFormed();
}
