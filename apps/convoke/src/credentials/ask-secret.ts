import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import type { ReadStream } from "node:tty";
import { type CommandIo, Interrupted, UsageError } from "../terminal/command.ts";

/**
 * Asks for a password or a token. At a terminal the input is hidden; otherwise the first line of
 * standard input is used.
 */
export async function askSecret(io: CommandIo, name: string): Promise<string> {
  const { keyboard, stdin } = io;
  const secret = keyboard === undefined ? await stdin.line() : await typed(io, keyboard, name);
  if (secret !== undefined && secret !== "") return secret;
  throw new UsageError(`The ${name} is missing: type it when asked, or pipe it in as one line.`);
}

function typed(io: CommandIo, input: ReadStream, name: string): Promise<string | undefined> {
  // readline echoes to its output, so give it one that discards everything. The prompt comes
  // after: by then the echo of the terminal itself is off.
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output, terminal: true, historySize: 0 });
  io.stderr(`${name.charAt(0).toUpperCase()}${name.slice(1)}: `);
  const answer = new Promise<string | undefined>((resolve, reject) => {
    lines.once("line", resolve);
    lines.once("close", () => resolve(undefined));
    // In raw mode Ctrl+C is a key, not a signal.
    lines.once("SIGINT", () => reject(new Interrupted()));
    io.signal.addEventListener("abort", () => reject(new Interrupted()), { once: true });
  });
  return answer.finally(() => {
    lines.close();
    io.stderr("\n");
  });
}
