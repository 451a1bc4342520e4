import { type A2AError, invalidParams } from "../model/errors.ts";
import type { Message } from "../model/message.ts";
import { compileCheck } from "../schema/compile-schema.ts";
import type { Schema } from "../schema/schema.ts";
import { EXTENSIONS, dataField, extensionData } from "./extensions.ts";

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

const check = compileCheck(SKILL_CHOICE);

/** The skill that a message chooses, if any. Call it only if the extension is active. */
export function chosenSkill({ metadata }: Message): string | undefined {
  const data = extensionData(metadata, EXTENSIONS.skill.uri);
  if (data === undefined) return undefined;
  check(data, FIELD);
  return (data as SkillChoice).id;
}

/** How many skills an error lists; the card has them all. */
const MAX_NAMED = 20;

/** The error for a skill that the agent does not have. */
export function unknownSkill(known: readonly string[]): A2AError {
  const named = known.slice(0, MAX_NAMED).join(", ");
  const more = known.length > MAX_NAMED ? `, and ${known.length - MAX_NAMED} more` : "";
  return invalidParams(`${FIELD}.id`, `must be a skill of the agent: ${named}${more}`);
}
