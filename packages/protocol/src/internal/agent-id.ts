/** Names of folders beside those of agents, so no agent can have them as its id. */
const RESERVED: ReadonlySet<string> = new Set(["agents", "host"]);

/** Lower case only: some file systems do not distinguish case, and the id is the name of a folder. */
const VALID = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;

/** Throws if the id of an agent cannot be used. */
export function checkAgentId(id: unknown): asserts id is string {
  if (typeof id === "string" && VALID.test(id) && !RESERVED.has(id)) return;
  const reserved = [...RESERVED].map((name) => `"${name}"`).join(" or ");
  throw new TypeError(
    `the id of an agent must be 1 to 64 lower case letters, digits, ".", "_" or "-", begin and end with a letter or digit, and not be ${reserved}, not ${JSON.stringify(id)}`,
  );
}

/**
 * The id of an agent that has only a name. Names that differ in more than case, accents and spaces
 * get different ids.
 */
export function agentIdFrom(name: string): string {
  const plain = name
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .trim()
    .replaceAll(/\s+/g, "-");
  const slug = plain.replaceAll(/[^a-z0-9._-]/g, "").replaceAll(/^[._-]+|[._-]+$/g, "");
  const isWhole = slug === plain && VALID.test(slug) && !RESERVED.has(slug);
  return isWhole ? slug : `${slug.slice(0, 40) || "agent"}-${shortHash(plain)}`;
}

/** FNV-1a: distinguishes names, and is not meant to resist an attack. */
function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, "0");
}
