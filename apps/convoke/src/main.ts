import type { CommandIo } from "./cli/command.ts";
import { COMMANDS } from "./cli/commands.ts";
import { main } from "./cli/main.ts";

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());

const io: CommandIo = {
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
  env: process.env,
  isTTY: { stdout: process.stdout.isTTY === true, stderr: process.stderr.isTTY === true },
  signal: stop.signal,
};

process.exitCode = await main(process.argv.slice(2), io, COMMANDS);
// Whoever said stop does not wait for an agent that went on all the same.
if (stop.signal.aborted) process.exit();
