import type { Reporter, TestModule } from "vitest/node";

/** Names at the end of a run the tests that failed first and passed when they were run again. */
export class SecondTries implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      for (const test of module.children.allTests("passed")) {
        if (test.diagnostic()?.flaky !== true) continue;
        process.stdout.write(
          `\n Passed only when run again: ${module.moduleId} > ${test.fullName}\n`,
        );
        for (const error of test.result().errors ?? []) {
          process.stdout.write(`   ${error.message}\n`);
        }
      }
    }
  }
}
