import { flushCompileCache } from "node:module";

/** Tells the `ScriptProcess` that started this script where it is, and ends with the parent. */
export function reportReady(line: string): void {
  process.stdin.on("end", () => process.exit()).resume();
  process.stdout.write(`${line}\n`);
  // A process that is killed cannot do it later, and the next one starts twice as fast.
  flushCompileCache();
}
