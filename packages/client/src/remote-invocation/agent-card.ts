import type { RawCard } from "@convoke/protocol";
import { ValidationError } from "./errors.ts";

/** An agent card of which at least the name and the version are known. */
export interface A2AAgentCard extends RawCard {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly url?: string;
  readonly skills?: readonly A2AAgentSkill[];
}

/** What an agent can do, as its card says it. */
interface A2AAgentSkill {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly tags?: readonly string[];
}

/** The fields without which a card is none. */
export function missingFields(card: RawCard): readonly string[] {
  return ["name", "version"].filter((field) => {
    const value = card[field];
    return typeof value !== "string" || value === "";
  });
}

/** The card as it is, or an error that names what it lacks. */
export function strictCard(card: RawCard, cardUrl: string): A2AAgentCard {
  const fields = missingFields(card);
  if (fields.length === 0) return card as A2AAgentCard;
  const what = fields.length === 1 ? "field" : "fields";
  throw new ValidationError(
    `Invalid Agent Card from ${cardUrl}: missing required ${what} (${fields.join(", ")}). ` +
      `The agent must add it, or read the card with lenient: true`,
    { fields, cardUrl },
  );
}

/** The card with the host for a name and nothing for a version, where it has none. */
export function lenientCard(card: RawCard, cardUrl: string): A2AAgentCard {
  const fields = missingFields(card);
  return {
    ...card,
    ...(fields.includes("name") && { name: new URL(cardUrl).host }),
    ...(fields.includes("version") && { version: "" }),
  } as A2AAgentCard;
}
