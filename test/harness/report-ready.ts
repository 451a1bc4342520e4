import { flushCompileCache } from "node:module";

/** Reports the URL to the `ScriptProcess` that started this script, and ends with the parent. */
export function reportReady(line: string): void {
  process.stdin.on("end", () => process.exit()).resume();
  process.stdout.write(`${line}\n`);
  // A killed process cannot do it later, and the next one starts twice as fast.
  flushCompileCache();
}
