import { isObject } from "../internal/json.ts";
import type { AgentInfo, AgentSkill } from "./agent.ts";

/** What an agent must say of itself; the rest has a default. */
export type GivenAgentInfo = Pick<AgentInfo, "name" | "description"> & Partial<AgentInfo>;

const DEFAULT_MODES = ["text/plain", "application/json"];

/** The info of an agent with every default; the same object if nothing is missing. */
export function completeAgentInfo(given: GivenAgentInfo): AgentInfo {
  const { name, description } = given;
  const defaults = {
    version: "1.0.0",
    skills: [ownSkill(name, description)],
    inputModes: DEFAULT_MODES,
    outputModes: DEFAULT_MODES,
    replies: false,
    keepStreamOnInterrupt: false,
    takesMessages: false,
    restart: false,
  } satisfies Partial<AgentInfo>;
  const present = Object.entries(given).filter(([, value]) => value !== undefined);
  const info = { ...defaults, ...(Object.fromEntries(present) as unknown as GivenAgentInfo) };
  return Object.keys(info).length === present.length ? (given as AgentInfo) : info;
}

/** Cards must list skills; an agent that names none has one. */
function ownSkill(name: string, description: string): AgentSkill {
  const id = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return { id, name, description, tags: [id] };
}

/**
 * Throws a `TypeError` that names a field of another type: an agent may be written in JavaScript, and
 * its mistakes would otherwise show when the first message arrives.
 */
export function checkAgentInfo(info: GivenAgentInfo): void {
  checkText(info.name, "name");
  checkText(info.description, "description");
  const { version, skills, inputModes, outputModes } = completeAgentInfo(info);
  checkText(version, "version");
  checkTexts(inputModes, "inputModes");
  checkTexts(outputModes, "outputModes");
  if (!Array.isArray(skills)) throw wrong("skills", "a list");
  for (const [place, skill] of (skills as readonly unknown[]).entries()) {
    const field = `skills[${place}]`;
    if (!isObject(skill)) throw wrong(field, "an object");
    for (const name of ["id", "name", "description"]) checkText(skill[name], `${field}.${name}`);
    if (skill["tags"] !== undefined) checkTexts(skill["tags"], `${field}.tags`);
  }
}

function checkText(value: unknown, field: string): void {
  if (typeof value !== "string") throw wrong(field, "a text");
}

function checkTexts(value: unknown, field: string): void {
  if (!Array.isArray(value)) throw wrong(field, "a list of texts");
  for (const [place, one] of value.entries()) checkText(one, `${field}[${place}]`);
}

function wrong(field: string, kind: string): TypeError {
  return new TypeError(`info.${field} of an agent must be ${kind}`);
}
