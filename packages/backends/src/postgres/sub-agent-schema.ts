import { hash } from "node:crypto";
import { agentIdFrom } from "@convoke/protocol/internal";

export const DEFAULT_SCHEMA = "convoke";

/** The longest name of a schema that an address may have. */
export const MAX_SCHEMA = 48;
const DIGEST_DIGITS = 8;

/**
 * The address for the tasks of a sub-agent, which are in a schema of their own. The parameter `place`
 * says where they would be in a data folder, for a move to one: the schema of the first agent, and
 * the path below its folder.
 *
 * @param name of the sub-agent
 */
export function subAgentUrl(database: string, name: string): string {
  const url = new URL(withPlace(database, `agents/${name}`));
  url.searchParams.set("schema", subAgentSchema(schemaOf(database), name));
  return url.href;
}

/** The address for the sub-agents of one of several agents: they would be below its own folder. */
export function hostedAgentUrl(database: string, id: string): string {
  return withPlace(database, `agents/${id}`);
}

/** The schema that an address names. */
export function schemaOf(database: string): string {
  return new URL(database).searchParams.get("schema") ?? DEFAULT_SCHEMA;
}

function withPlace(database: string, below: string): string {
  const url = new URL(database);
  const schema = schemaOf(database);
  const { root = schema, path = "" } = readPlace(url.searchParams.get("place") ?? "") ?? {};
  url.searchParams.set("place", placeText(root, path === "" ? below : `${path}/${below}`));
  return url.href;
}

/** A long name is cut and ends with a digest, so that no two sub-agents share a schema. */
export function subAgentSchema(schema: string, name: string): string {
  const whole = `${schema}_${agentIdFrom(name).replaceAll("-", "_")}`;
  if (whole.length <= MAX_SCHEMA) return whole;
  const digest = hash("sha256", whole, "hex").slice(0, DIGEST_DIGITS);
  return `${whole.slice(0, MAX_SCHEMA - DIGEST_DIGITS - 1)}_${digest}`;
}

function placeText(root: string, path: string): string {
  return `${root}:${path}`;
}

function readPlace(text: string): { readonly root: string; readonly path: string } | undefined {
  const [, root, path] = /^([a-z0-9_]+):(.+)$/.exec(text) ?? [];
  return root === undefined || path === undefined ? undefined : { root, path };
}
