import { startTimer } from "@convoke/protocol/internal";
import { ToolOutput } from "@convoke/runtime";
import { stripVTControlCharacters } from "node:util";
import { type ShellEnd, ShellProcess, type ShellStart } from "./shell-process.ts";

/** The longest output that the model gets, in characters: its beginning and its end. */
const MAX_OUTPUT = 30_000;

/** Output that waits for its reader, in characters. Beyond this the command waits. */
const MAX_AHEAD = 64 * 1024;

/** What the model gets. */
interface ShellResult extends ShellEnd {
  readonly output: string;
  readonly timedOut?: true;
}

/**
 * Runs a command to its end. Yields its output as it comes, with colours, and returns the result
 * for the model, without them.
 */
export async function* runForeground(
  start: Omit<ShellStart, "print">,
  timeoutMs: number,
  signal: AbortSignal,
): AsyncGenerator<string, ShellResult> {
  const whole = new ToolOutput(MAX_OUTPUT);
  let ahead = "";
  let wake = Promise.withResolvers<void>();
  const process = new ShellProcess({
    ...start,
    print: (text) => {
      whole.add(text);
      ahead += text;
      if (ahead.length > MAX_AHEAD) process.setPaused(true);
      wake.resolve();
    },
  });
  process.closeInput();
  let timedOut = false as boolean;
  const stop = (): void => void process.stop();
  const stopTimer = startTimer(timeoutMs, () => {
    timedOut = true;
    stop();
  });
  signal.addEventListener("abort", stop, { once: true });
  void process.ended.then(() => wake.resolve());
  try {
    while (process.end === undefined || ahead !== "") {
      await wake.promise;
      wake = Promise.withResolvers();
      if (process.end !== undefined) wake.resolve();
      const text = ahead;
      ahead = "";
      process.setPaused(false);
      if (text !== "") yield text;
    }
    const output = stripVTControlCharacters(whole.text());
    return { ...(await process.ended), output, ...(timedOut && { timedOut: true }) };
  } finally {
    stopTimer();
    signal.removeEventListener("abort", stop);
    // The reader may leave before the command has ended.
    if (process.end === undefined) stop();
  }
}
