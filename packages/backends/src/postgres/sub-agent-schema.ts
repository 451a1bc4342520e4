import { agentIdFrom } from "@convoke/protocol/internal";

const DEFAULT_SCHEMA = "convoke";

/** Postgres cuts longer names. */
const MAX_SCHEMA = 63;

/**
 * The address for the tasks of a sub-agent, which are in a schema of their own. The parameter `place`
 * says where they would be in a data folder, for a move to one: the schema of the first agent, and
 * the path below its folder.
 *
 * @param name of the sub-agent
 */
export function subAgentUrl(database: string, name: string): string {
  const url = new URL(withPlace(database, `agents/${name}`));
  const schema = url.searchParams.get("schema") ?? DEFAULT_SCHEMA;
  url.searchParams.set("schema", subAgentSchema(schema, name));
  return url.href;
}

/** The address for the sub-agents of one of several agents: they would be below its own folder. */
export function hostedAgentUrl(database: string, id: string): string {
  return withPlace(database, `agents/${id}`);
}

function withPlace(database: string, below: string): string {
  const url = new URL(database);
  const schema = url.searchParams.get("schema") ?? DEFAULT_SCHEMA;
  const { root = schema, path = "" } = readPlace(url.searchParams.get("place") ?? "") ?? {};
  url.searchParams.set("place", placeText(root, path === "" ? below : `${path}/${below}`));
  return url.href;
}

export function subAgentSchema(schema: string, name: string): string {
  return `${schema}_${agentIdFrom(name).replaceAll("-", "_")}`.slice(0, MAX_SCHEMA);
}

export function placeText(root: string, path: string): string {
  return `${root}:${path}`;
}

export function readPlace(
  text: string,
): { readonly root: string; readonly path: string } | undefined {
  const [, root, path] = /^([a-z0-9_]+):(.+)$/.exec(text) ?? [];
  return root === undefined || path === undefined ? undefined : { root, path };
}
