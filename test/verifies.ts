import { test } from "vitest";
import { findRequirement } from "./requirements.ts";

/**
 * A test that proves requirements of the manifest. It is an ordinary test whose name ends with
 * the ids, so that a red run says which promise is broken.
 *
 * Write the ids as literals: `requirements.test.ts` finds them by reading the source.
 */
export function verifies(
  ids: string | readonly string[],
  title: string,
  body: () => void | Promise<void>,
  timeoutMs?: number,
): void {
  const cited = typeof ids === "string" ? [ids] : ids;
  if (cited.length === 0) throw new Error(`"${title}" cites no requirement`);

  // Thrown while the file is collected, so a mistyped id fails even where the test is filtered out.
  for (const id of cited) {
    if (findRequirement(id) === undefined) {
      throw new Error(`"${title}" cites the unknown requirement ${id}`);
    }
  }

  test(`${title} [${cited.join(", ")}]`, async () => body(), timeoutMs);
}
