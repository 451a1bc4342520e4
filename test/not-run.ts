import type { Reporter, TestModule } from "vitest/node";
import { NEEDS } from "./system-programs.ts";

/** Prints at the end of a run how many tests were skipped, and which program they need. */
export class NotRun implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const lacking = new Map<string, number>();
    for (const module of modules) {
      for (const test of module.children.allTests("skipped")) {
        const result = test.result();
        const note = result.state === "skipped" ? result.note : undefined;
        if (note?.startsWith(NEEDS)) lacking.set(note, (lacking.get(note) ?? 0) + 1);
      }
    }
    for (const [note, count] of lacking) {
      const tests = count === 1 ? "1 test was not run: it" : `${count} tests were not run: each`;
      process.stdout.write(`\n ${tests} ${note}\n`);
    }
  }
}
