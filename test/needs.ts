import { beforeEach } from "vitest";
import { NEEDS, type ProgramName, findProgram, howToGet } from "./system-programs.ts";

/**
 * The tests of a file or of a `describe` need a system program. If it is missing they are skipped,
 * and the end of the run says so; with CONVOKE_TEST_REQUIRE=all they fail. Returns the path of the
 * program.
 */
export function needs(name: ProgramName): () => string {
  const path = findProgram(name);
  const problem = `${NEEDS}${name} (${howToGet(name)})`;
  beforeEach((context) => {
    if (path !== undefined) return;
    if (process.env["CONVOKE_TEST_REQUIRE"] === "all") throw new Error(`This test ${problem}.`);
    context.skip(problem);
  });
  return () => {
    if (path === undefined) throw new Error(`This test ${problem}.`);
    return path;
  };
}
