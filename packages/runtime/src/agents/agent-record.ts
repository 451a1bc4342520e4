import type { AgentKey } from "@convoke/engine";
import type { Agent } from "@convoke/protocol";
import { agentIdFrom, checkAgentId, isObject } from "@convoke/protocol/internal";
import { readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

/** What a data folder says about an agent whose tasks it has. */
export interface AgentRecord extends AgentKey {
  /** The names the agent had, the current one last. */
  readonly names: readonly string[];
  /** The file that exports the agent and nothing else, relative to the data folder. */
  readonly source?: string | undefined;
  readonly folder: string;
}

/** Beside the tasks, so that it is copied with them and can be read by people. */
const FILE = "agent.json";

/** The agents whose tasks are in a folder. Empty for a folder of a version in which agents had no id. */
export function readAgentRecords(folder: string): readonly AgentRecord[] {
  let stored: unknown;
  try {
    stored = JSON.parse(readFileSync(join(folder, FILE), "utf8"));
  } catch {
    return [];
  }
  const agents = isObject(stored) ? stored["agents"] : undefined;
  return Array.isArray(agents) ? agents.flatMap((entry) => toRecord(entry, folder)) : [];
}

function toRecord(entry: unknown, folder: string): readonly AgentRecord[] {
  if (!isObject(entry)) return [];
  const { id, names, source } = entry;
  if (typeof id !== "string" || !Array.isArray(names)) return [];
  if (!names.every((name) => typeof name === "string") || names.length === 0) return [];
  return [{ id, names, folder, ...(typeof source === "string" && { source }) }];
}

/** The agents whose tasks are in the folders below one. */
export function readAgentRecordsBelow(root: string): readonly AgentRecord[] {
  return childFolders(root).flatMap((name) => readAgentRecords(join(root, name)));
}

function childFolders(root: string): readonly string[] {
  try {
    const entries = readdirSync(root, { withFileTypes: true });
    return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch {
    return [];
  }
}

/**
 * Which of the recorded agents this one is, or the record for a new one. The id that the author
 * gave decides. Without one, an agent is recognized by its current name and otherwise, because it
 * may have been renamed, by the file that exports it. A name that another agent had earlier does
 * not count.
 */
export function findAgentRecord(
  { id, info: { name } }: Pick<Agent, "id" | "info">,
  records: readonly AgentRecord[],
  source?: string,
): Omit<AgentRecord, "folder"> & { readonly folder?: string } {
  if (id !== undefined) {
    checkAgentId(id);
    const known = records.find((record) => record.id === id);
    return withName(known ?? { id, names: [] }, name);
  }
  const isFrom = (record: AgentRecord): boolean =>
    source !== undefined && record.source === portable(relative(record.folder, source));
  const namesakes = records.filter(({ names }) => names.at(-1) === name);
  const known = namesakes.find(isFrom) ?? only(namesakes) ?? only(records.filter(isFrom));
  return withName(known ?? { id: freeId(name, records), names: [] }, name);
}

function only<T>(items: readonly T[]): T | undefined {
  return items.length === 1 ? items[0] : undefined;
}

/** An agent that was renamed keeps the id that its first name gave. */
function freeId(name: string, records: readonly AgentRecord[]): string {
  const wanted = agentIdFrom(name);
  const taken = new Set(records.map(({ id }) => id));
  let id = wanted;
  for (let count = 2; taken.has(id); count += 1) id = `${wanted}-${count}`;
  return id;
}

function withName<T extends { readonly names: readonly string[] }>(record: T, name: string): T {
  return { ...record, names: [...record.names.filter((known) => known !== name), name] };
}

/** Stores the agent in its folder, which must be locked. Written and renamed, so that it is never incomplete. */
export function writeAgentRecord(
  folder: string,
  { id, names }: AgentKey,
  source: string | undefined,
): void {
  const records = readAgentRecords(folder);
  const known = records.find((record) => record.id === id);
  const stored = source === undefined ? known?.source : portable(relative(folder, source));
  const own = { id, names, source: stored };
  const others = records.filter((record) => record !== known);
  const agents = [...others, own].map((agent) => ({
    id: agent.id,
    names: agent.names,
    source: agent.source,
  }));
  const text = `${JSON.stringify({ agents }, undefined, 2)}\n`;
  const draft = join(folder, `${FILE}.new`);
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, join(folder, FILE));
}

function portable(path: string): string {
  return path.split(sep).join("/");
}
