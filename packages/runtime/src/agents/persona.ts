import type { Turn } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import type { LoopDefinition } from "../run/loop-settings.ts";

/** The character of an agent with a model. */
export interface Persona {
  /** A word for the card, such as "teacher". "custom" says nothing, and is left out. */
  readonly archetype?: string;
  /** How it speaks and behaves, for the model. */
  readonly instructions?: string;
}

/** Something that several agents can do in the same way. */
export interface SkillBundle {
  /** On the card, and the heading of the instructions. */
  readonly name: string;
  /** How it is done, for the model. Default: only its name is on the card. */
  readonly instructions?: string;
}

/** What an agent is, in addition to its own description and instructions. */
export interface Character {
  /** Added to the instructions, and its archetype to the description on the card. */
  readonly persona?: Persona;
  /** Added to the instructions, and their names to the description on the card. */
  readonly skillBundles?: readonly SkillBundle[];
}

/** The description on the card, with the archetype and the names of skill bundles. */
export function describeCharacter(
  description: string,
  {
    archetype,
    bundles,
  }: { readonly archetype?: string | null; readonly bundles: readonly string[] },
): string {
  return [
    description,
    ...(archetype && archetype !== "custom" ? [`Archetype: ${archetype}`] : []),
    ...(bundles.length > 0 ? [`Skills: ${bundles.join(", ")}`] : []),
  ].join(" | ");
}

/** Puts the persona and the skill bundles of a definition into its description and instructions. */
export function withCharacter<Definition extends LoopDefinition & { readonly description: string }>(
  given: Definition & Character,
): Definition {
  const { persona, skillBundles, ...rest } = given;
  const definition = rest as unknown as Definition;
  if (persona === undefined && skillBundles === undefined) return definition;
  checkCharacter(given);
  const bundles = (skillBundles ?? []).map(({ name }) => name);
  return {
    ...definition,
    // One that is missing is reported later.
    description:
      definition.description &&
      describeCharacter(definition.description, { archetype: persona?.archetype ?? null, bundles }),
    instructions: instructionsWith(definition.instructions, given),
  };
}

function instructionsWith(
  own: LoopDefinition["instructions"],
  { persona, skillBundles = [] }: Character,
): LoopDefinition["instructions"] {
  const sections = skillBundles.flatMap(({ name, instructions }) =>
    instructions === undefined ? [] : [`# ${name}\n\n${instructions}`],
  );
  const join = (text: string | undefined): string =>
    [persona?.instructions, text, ...sections].filter(Boolean).join("\n\n");
  return typeof own === "function" ? (turn: Turn) => join(own(turn)) : join(own);
}

function checkCharacter({ persona, skillBundles }: Character): void {
  if (persona !== undefined) checkTexts("persona", persona, ["archetype", "instructions"]);
  if (skillBundles === undefined) return;
  if (!Array.isArray(skillBundles)) {
    throw new TypeError('skillBundles must be a list, as in [{ name: "…", instructions: "…" }]');
  }
  skillBundles.forEach((bundle: unknown, index) => {
    const field = `skillBundles[${index}]`;
    checkTexts(field, bundle, ["name", "instructions"]);
    if (!(bundle as Partial<SkillBundle>).name) throw new TypeError(`${field} needs a name`);
  });
}

function checkTexts(field: string, value: unknown, names: readonly string[]): void {
  if (!isObject(value)) {
    throw new TypeError(`${field} must be an object with ${names.join(" and ")}`);
  }
  for (const [name, text] of Object.entries(value)) {
    if (!names.includes(name)) {
      throw new TypeError(
        `${field} has no field ${JSON.stringify(name)}; it has ${names.join(" and ")}`,
      );
    }
    if (typeof text !== "string") throw new TypeError(`${field}.${name} must be a text`);
  }
}
