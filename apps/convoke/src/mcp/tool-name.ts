import { createHash } from "node:crypto";

/** Hosts put the name of the server before it, and many take 64 characters in all. */
const MAX_NAME = 40;
const HASH_LENGTH = 8;

/** The ids of skills as names that every host takes, each once. */
export function toolNames(ids: readonly string[]): ReadonlyMap<string, string> {
  const names = ids.map(cleanName);
  return new Map(
    ids.map((id, place) => {
      const name = cleanName(id);
      const isAlone = names.indexOf(name) === place && !names.includes(name, place + 1);
      // An id that is a name already keeps it, whoever else would come to it.
      return [id, name === id || isAlone ? name : hashed(name, id)];
    }),
  );
}

/** Letters, digits, "_" and "-"; what is cut is told from others by a hash. */
export function cleanName(id: string): string {
  const clean = id.replaceAll(/[^a-zA-Z0-9_-]+/g, "_").replaceAll(/^[_-]+|[_-]+$/g, "");
  const name = clean === "" ? "skill" : clean;
  return name.length <= MAX_NAME ? name : hashed(name, id);
}

function hashed(name: string, id: string): string {
  const hash = createHash("sha256").update(id).digest("hex").slice(0, HASH_LENGTH);
  return `${name.slice(0, MAX_NAME - HASH_LENGTH - 1)}-${hash}`;
}
