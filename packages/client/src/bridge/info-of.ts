import type { AgentInfo, AgentSkill, RawCard } from "@convoke/protocol";
import { knowsMessages } from "../connection/knows-messages.ts";

/** What a card says of an agent, for whoever serves it in its place. */
export function infoOf(card: RawCard, name: string): AgentInfo {
  return {
    name,
    description: textIn(card, "description") ?? `The agent ${name}.`,
    version: textIn(card, "version") ?? "1.0.0",
    skills: skillsIn(card["skills"]),
    inputModes: textsIn(card, "defaultInputModes") ?? ["text/plain"],
    outputModes: textsIn(card, "defaultOutputModes") ?? ["text/plain"],
    ...optional(card, "documentationUrl"),
    ...optional(card, "iconUrl"),
    // Whether it answers without a task is known only when it does.
    replies: true,
    keepStreamOnInterrupt: false,
    takesMessages: false,
    // Before its task is known there is nothing to go on with but the message itself.
    restart: knowsMessages(card),
  };
}

function skillsIn(value: unknown): readonly AgentSkill[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isObject).flatMap((skill) => {
    const id = textIn(skill, "id");
    if (id === undefined) return [];
    return [
      {
        id,
        name: textIn(skill, "name") ?? id,
        description: textIn(skill, "description") ?? "",
        tags: textsIn(skill, "tags") ?? [],
        ...optionalList(skill, "examples"),
        ...optionalList(skill, "inputModes"),
        ...optionalList(skill, "outputModes"),
      },
    ];
  });
}

type Fields = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

function textIn(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function textsIn(fields: Fields, name: string): readonly string[] | undefined {
  const value = fields[name];
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return value.filter((text) => typeof text === "string");
}

function optional<Name extends string>(
  fields: Fields,
  name: Name,
): Partial<Readonly<Record<Name, string>>> {
  const text = textIn(fields, name);
  return text === undefined ? {} : ({ [name]: text } as Readonly<Record<Name, string>>);
}

function optionalList<Name extends string>(
  fields: Fields,
  name: Name,
): Partial<Readonly<Record<Name, readonly string[]>>> {
  const list = textsIn(fields, name);
  return list === undefined ? {} : ({ [name]: list } as Readonly<Record<Name, readonly string[]>>);
}
