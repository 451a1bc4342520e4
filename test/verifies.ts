import { test } from "vitest";
import { findRequirement } from "./requirements.ts";

declare module "vitest" {
  interface TaskMeta {
    /** The requirements that a test proves; the reporter `RequirementRecord` reads them. */
    requirements?: readonly string[];
  }
}

/**
 * A test that proves requirements of the manifest. It is an ordinary test whose name ends with the
 * ids, so that a failure says which requirement is violated.
 */
export function verifies(
  ids: string | readonly string[],
  title: string,
  body: () => void | Promise<void>,
  timeoutMs?: number,
): void {
  const { name, requirements } = cite(ids, title);
  const timeout = timeoutMs === undefined ? {} : { timeout: timeoutMs };
  test(name, { meta: { requirements }, ...timeout }, async () => body());
}

/**
 * The name of a test and the requirements that it cites. An unknown id throws, even if the test is
 * filtered out.
 */
export function cite(
  ids: string | readonly string[],
  title: string,
): { readonly name: string; readonly requirements: readonly string[] } {
  const cited = typeof ids === "string" ? [ids] : ids;
  if (cited.length === 0) throw new Error(`"${title}" cites no requirement`);
  const unknown = cited.find((id) => findRequirement(id) === undefined);
  if (unknown !== undefined) throw new Error(`"${title}" cites the unknown requirement ${unknown}`);
  return { name: `${title} [${cited.join(", ")}]`, requirements: cited };
}
