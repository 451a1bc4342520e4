import { hash } from "node:crypto";
import { agentIdFrom } from "@convoke/protocol/internal";

export const DEFAULT_SCHEMA = "convoke";

/** The longest name of a schema that an address may have. */
export const MAX_SCHEMA = 48;
const DIGEST_DIGITS = 8;

/**
 * The address for the tasks of a sub-agent, which are in a schema of their own.
 *
 * @param name of the sub-agent
 */
export function subAgentUrl(database: string, name: string): string {
  const url = new URL(database);
  url.searchParams.set("schema", subAgentSchema(schemaOf(database), name));
  return url.href;
}

/** The schema that an address names. */
export function schemaOf(database: string): string {
  return new URL(database).searchParams.get("schema") ?? DEFAULT_SCHEMA;
}

/** A long name is cut and ends with a digest, so that no two sub-agents share a schema. */
export function subAgentSchema(schema: string, name: string): string {
  const whole = `${schema}_${agentIdFrom(name).replaceAll("-", "_")}`;
  if (whole.length <= MAX_SCHEMA) return whole;
  const digest = hash("sha256", whole, "hex").slice(0, DIGEST_DIGITS);
  return `${whole.slice(0, MAX_SCHEMA - DIGEST_DIGITS - 1)}_${digest}`;
}
