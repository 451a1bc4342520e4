import type { Reporter, TestModule, Vitest } from "vitest/node";
import { REQUIREMENTS } from "../requirements.ts";
import { NEEDS } from "../system-programs.ts";
import { citationProblems, citationsIn, writeRecord } from "./record.ts";

/**
 * After a complete test run, records which tests cite which requirement, and fails the run if a
 * requirement that is marked proven has no test. A partial run changes nothing.
 */
export class RequirementRecord implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  async onTestRunEnd(
    modules: readonly TestModule[],
    _: readonly unknown[],
    reason: "passed" | "failed" | "interrupted",
  ): Promise<void> {
    if (reason === "interrupted" || !(await this.#isWhole(modules))) return;
    const citations = citationsIn(modules);
    writeRecord({ endedAt: new Date().toISOString(), citations });
    const lacking = idsLackingPrograms(modules);
    const requirements = REQUIREMENTS.flatMap((group) => group.requirements);
    const problems = citationProblems(
      requirements.filter(({ id }) => !lacking.has(id)),
      citations.filter(({ id }) => !lacking.has(id)),
    );
    if (problems.length === 0) return;
    process.stdout.write(`\n Requirements:\n${problems.map((each) => `  ${each}\n`).join("")}`);
    process.exitCode = 1;
  }

  async #isWhole(modules: readonly TestModule[]): Promise<boolean> {
    const vitest = this.#vitest;
    if (vitest === undefined || vitest.config.testNamePattern !== undefined) return false;
    const all = await vitest.globTestSpecifications();
    return modules.length === all.length;
  }
}

/** The requirements whose tests need a program that is not installed on this machine. */
function idsLackingPrograms(modules: readonly TestModule[]): ReadonlySet<string> {
  const skipped = modules.flatMap((module) => [...module.children.allTests("skipped")]);
  return new Set(
    skipped.flatMap((test) => {
      const result = test.result();
      const isLacking = result.state === "skipped" && result.note?.startsWith(NEEDS);
      return isLacking ? (test.meta().requirements ?? []) : [];
    }),
  );
}
