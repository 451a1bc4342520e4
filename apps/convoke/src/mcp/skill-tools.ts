import { type AgentInfo, type AgentSkill } from "@convoke/protocol";
import { oneLine, printable } from "@convoke/protocol/internal";
import { createHash } from "node:crypto";

/** A skill as an MCP tool. */
export interface SkillTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The id on the card; absent if the agent lists no skills. */
  readonly skill?: string;
}

const MAX_TOOLS = 128;

/** One tool for each skill, or a single one for an agent without skills. */
export function skillTools(info: AgentInfo): readonly SkillTool[] {
  const skills = info.skills.filter((skill) => !isToolOfServer(skill));
  if (skills.length === 0) return [agentTool(info)];
  // A duplicate id would give two tools the same name.
  const unique = skills.filter(
    ({ id }, place) => skills.findIndex((other) => other.id === id) === place,
  );
  const shown = unique.slice(0, MAX_TOOLS);
  const names = toolNames(shown.map(({ id }) => id));
  return shown.map((skill) => skillTool(names.get(skill.id) ?? skill.id, skill, info.name));
}

/**
 * The card also lists tools that the agent itself has from MCP servers. They are not offered: here
 * they would take text instead of arguments, and the host can use that server directly.
 */
function isToolOfServer({ id, tags }: AgentSkill): boolean {
  return tags[0] === "mcp" && id.includes("__");
}

const MAX_TITLE = 100;

function agentTool({ name, description }: AgentInfo): SkillTool {
  return {
    name: cleanName(name),
    title: oneLine(name, MAX_TITLE),
    description: bounded(`${description}\n\n${answeredBy(name)}`),
  };
}

const MAX_EXAMPLES = 5;

function skillTool(toolName: string, skill: AgentSkill, agent: string): SkillTool {
  const { id, name, description, examples = [] } = skill;
  const shown = examples.slice(0, MAX_EXAMPLES).map((example) => `- ${oneLine(example)}`);
  const told = shown.length === 0 ? "" : `\n\nExamples of messages:\n${shown.join("\n")}`;
  return {
    name: toolName,
    title: oneLine(name, MAX_TITLE),
    description: bounded(`${description || name}${told}\n\n${answeredBy(agent)}`),
    skill: id,
  };
}

function answeredBy(name: string): string {
  return `Answered by the A2A agent ${oneLine(name, MAX_TITLE)}.`;
}

const MAX_DESCRIPTION = 2000;

function bounded(text: string): string {
  const shown = printable(text).trim();
  return shown.length <= MAX_DESCRIPTION ? shown : `${shown.slice(0, MAX_DESCRIPTION - 1)}…`;
}

/** Unique tool names, valid in every host, by skill id. */
function toolNames(ids: readonly string[]): ReadonlyMap<string, string> {
  const names = ids.map(cleanName);
  return new Map(
    ids.map((id, place) => {
      const name = cleanName(id);
      const isAlone = names.indexOf(name) === place && !names.includes(name, place + 1);
      // An id that is already a valid name keeps it, even if another id would map to it.
      return [id, name === id || isAlone ? name : hashed(name, id)];
    }),
  );
}

/** Hosts prepend the name of the server, and many allow 64 characters in total. */
const MAX_NAME = 40;

/** Letters, digits, "_" and "-". A name that is too long is cut and gets a hash. */
export function cleanName(id: string): string {
  const clean = id.replaceAll(/[^a-zA-Z0-9_-]+/g, "_").replaceAll(/^[_-]+|[_-]+$/g, "");
  const name = clean === "" ? "skill" : clean;
  return name.length <= MAX_NAME ? name : hashed(name, id);
}

const HASH_LENGTH = 8;

function hashed(name: string, id: string): string {
  const hash = createHash("sha256").update(id).digest("hex").slice(0, HASH_LENGTH);
  return `${name.slice(0, MAX_NAME - HASH_LENGTH - 1)}-${hash}`;
}
