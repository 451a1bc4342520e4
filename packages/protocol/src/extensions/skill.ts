import { type A2AError, invalidParams } from "../errors.ts";
import type { Message } from "../message.ts";
import { checkOf } from "../wire/check.ts";
import type { Schema } from "../wire/schema/schema.ts";
import { dataField, extensionData } from "./extension-data.ts";
import { EXTENSIONS } from "./extensions.ts";

/** `message.metadata["<uri>"]` of the extension `skill`. */
export interface SkillChoice {
  /** The id of a skill on the card. */
  readonly id: string;
}

const FIELD = dataField("message.metadata", EXTENSIONS.skill.uri);

export const SKILL_CHOICE: Schema = {
  type: "object",
  required: ["id"],
  properties: { id: { type: "string", minLength: 1, maxLength: 256 } },
};

const check = checkOf(SKILL_CHOICE);

/** The skill that a message chooses, if it chooses one. Only where the extension is active. */
export function chosenSkill({ metadata }: Message): string | undefined {
  const data = extensionData(metadata, EXTENSIONS.skill.uri);
  if (data === undefined) return undefined;
  check(data, FIELD);
  return (data as SkillChoice).id;
}

/** The card has them all; an error names enough to see what they look like. */
const MAX_NAMED = 20;

/** The message is for a skill that the agent does not have. */
export function unknownSkill(known: readonly string[]): A2AError {
  const named = known.slice(0, MAX_NAMED).join(", ");
  const more = known.length > MAX_NAMED ? `, and ${known.length - MAX_NAMED} more` : "";
  return invalidParams(`${FIELD}.id`, `must be a skill of the agent: ${named}${more}`);
}
