import { flushCompileCache } from "node:module";

/** Lets a script say where it is, and end when whoever started it is gone. */
export function greetParent(url: string): void {
  process.stdin.on("end", () => process.exit()).resume();
  process.stdout.write(`${url}\n`);
  // Those that are killed could not do it later, and the next one starts twice as fast.
  flushCompileCache();
}
