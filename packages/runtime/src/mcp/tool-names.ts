import { createHash } from "node:crypto";

/**
 * Assigns each server the prefix of its tool names. No prefix contains the separator or ends with
 * half of it, so a tool name identifies its server, and no server can take the name of another
 * server's tool.
 */
export function serverPrefixes(names: readonly string[]): ReadonlyMap<string, string> {
  const prefixes = new Map<string, string>();
  const taken = new Map<string, string>();
  for (const name of names) {
    if (name.trim() === "") throw new TypeError("a server in mcpServers has an empty name");
    const prefix = serverPrefix(name);
    const other = taken.get(prefix);
    if (other !== undefined) {
      throw new TypeError(`mcpServers.${name} looks like mcpServers.${other}; rename one`);
    }
    taken.set(prefix, name);
    prefixes.set(name, prefix);
  }
  return prefixes;
}

const SEPARATOR = "__";

/**
 * The format that every provider accepts: up to 64 letters, digits, "_" and "-", starting with a
 * letter.
 */
const MAX_NAME = 64;

/**
 * Maps the server's tool names to the names that the model uses. A name does not depend on the
 * order of the list, so a tool keeps its name when other tools are added or removed.
 */
export function toolNames(prefix: string, names: readonly string[]): ReadonlyMap<string, string> {
  const room = MAX_NAME - prefix.length - SEPARATOR.length;
  const fitting = new Map<string, string>();
  const isFit = (name: string): boolean => name === clean(name) && isShort(name, room);
  for (const name of names.filter(isFit)) fitting.set(name, prefix + SEPARATOR + name);
  const taken = new Set(fitting.values());
  for (const name of [...new Set(names)].filter((one) => !isFit(one)).toSorted()) {
    let made = "";
    for (let attempt = 0; made === "" || taken.has(made); attempt += 1) {
      made = prefix + SEPARATOR + hashed(clean(name), `${name}\n${attempt}`, room);
    }
    taken.add(made);
    fitting.set(name, made);
  }
  return fitting;
}

const MAX_PREFIX = 28;

function serverPrefix(name: string): string {
  const letters = clean(name).replaceAll(/_{2,}/g, "_").replace(/_$/, "");
  const cleaned = /^[a-zA-Z]/.test(letters) ? letters : `mcp-${letters}`;
  return cleaned === name && isShort(name, MAX_PREFIX) ? name : hashed(cleaned, name, MAX_PREFIX);
}

function clean(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
}

function isShort(name: string, room: number): boolean {
  return name.length > 0 && name.length <= room;
}

const HASH_LENGTH = 8;

/** Shortens a name and appends a hash that distinguishes it from names with the same beginning. */
function hashed(cleaned: string, seed: string, room: number): string {
  const hash = createHash("sha256").update(seed).digest("hex").slice(0, HASH_LENGTH);
  return `${cleaned.slice(0, room - HASH_LENGTH - 1)}-${hash}`;
}
