import { flushSpans } from "@convoke/engine/tracing";
import { COMMANDS } from "./cli/commands.ts";
import { main } from "./cli/main.ts";
import { type ReadStream, type WriteStream, isatty } from "node:tty";
import { type CommandIo, EXIT } from "./terminal/command.ts";
import { detectInvocation } from "./terminal/invocation.ts";
import { StdinText } from "./terminal/stdin-text.ts";

/** How long the exporter of an OpenTelemetry SDK may take to send the last spans. */
const FLUSH_MS = 2000;

const { io, close } = createProcessIo();

process.exitCode = await main(process.argv.slice(2), io, COMMANDS);
close();
await flushSpans(FLUSH_MS);
// The user stopped the command: do not wait for an agent that keeps running.
if (io.signal.aborted) process.exit();

/** The outside world of a real process, and a function that releases it. */
interface ProcessIo {
  readonly io: CommandIo;
  readonly close: () => void;
}

function createProcessIo(): ProcessIo {
  const stop = new AbortController();
  const takers: (() => void)[] = [];
  const interrupt = (): void => {
    const taker = takers.at(-1);
    if (taker !== undefined) return taker();
    // A second Ctrl+C ends the process.
    process.off("SIGINT", interrupt);
    stop.abort();
  };
  process.on("SIGINT", interrupt);
  process.once("SIGTERM", () => stop.abort());
  // A reader such as `convoke stream … | head` may close the pipe early: that is not an error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(EXIT.done.code);
  });

  const stdin = new StdinText(() => process.stdin);
  const io: CommandIo = {
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    env: process.env,
    started: detectInvocation(process.argv[1] ?? "", process.env, process.cwd()),
    isTTY: { stdout: process.stdout.isTTY === true, stderr: process.stderr.isTTY === true },
    stdin,
    ...terminals(),
    signal: stop.signal,
    onInterrupt: (interrupted) => {
      takers.push(interrupted);
      return () => void takers.splice(takers.lastIndexOf(interrupted), 1);
    },
  };
  return { io, close: () => stdin.close() };
}

/** Does not touch `process.stdin` unless it is a terminal: a server may not have one. */
function terminals(): { readonly keyboard?: ReadStream; readonly screen?: WriteStream } {
  return {
    ...(isatty(0) && { keyboard: process.stdin }),
    ...(isatty(1) && { screen: process.stdout }),
  };
}
