import { onTestFinished } from "vitest";
import { Program, type ProgramEnd, type ProgramOptions } from "./running-program.ts";

export type { Program } from "./running-program.ts";

/** Starts a program that is killed when its test ends. */
export function start(command: string, args: readonly string[], options: ProgramOptions): Program {
  const program = new Program(command, args, options);
  onTestFinished(async () => void (await program.kill()));
  return program;
}

/** Runs a program to its end. */
export function run(
  command: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<ProgramEnd> {
  return new Program(command, args, options).ended;
}

/** Runs a program that has to succeed, and returns its output. */
export async function succeed(
  command: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, options);
  if (code === 0) return stdout;
  throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${stdout}\n${stderr}`);
}
