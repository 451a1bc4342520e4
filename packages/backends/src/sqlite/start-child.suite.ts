import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** A child process with its own data folder, and its output so far. */
export interface Child {
  readonly pid: number;
  readonly lines: () => readonly string[];
  /** Ends it as `kill -9` does, and waits until it is gone and all its output has arrived. */
  kill(): Promise<void>;
}

/** @param under a program with its arguments that runs the child, such as strace */
export async function startChild(
  folder: string,
  parameters: readonly string[] = [],
  under: readonly string[] = [],
): Promise<Child> {
  const script = fileURLToPath(new URL("./child.suite.ts", import.meta.url));
  const own = [process.execPath, "--conditions=@convoke/source", script, folder, ...parameters];
  const [program = "", ...args] = [...under, ...own];
  // In a group of its own, so that it can be killed together with what runs it.
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], detached: true });
  onTestFinished(() => killGroup(child));
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (complaints += text));
  const ended = once(child, "close").then(() =>
    Promise.reject(new Error(`the child process ended: ${complaints}`)),
  );
  await Promise.race([once(child.stdout, "data"), ended]);
  return {
    pid: child.pid!,
    lines: () => printed.split("\n").slice(1, -1),
    kill: () => kill(child),
  };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) throw new Error(`the child process has ended (${child.exitCode})`);
  const closed = once(child, "close");
  killGroup(child);
  await closed;
}

function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (exitCode === null && signalCode === null) process.kill(-pid!, "SIGKILL");
}
