import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import type { ReadStream } from "node:tty";
import { type CommandIo, Interrupted, UsageError } from "../terminal/command.ts";

/**
 * Asks for a password or a token: at a terminal without showing what is typed,
 * otherwise it is the first line of standard input.
 */
export async function askSecret(io: CommandIo, name: string): Promise<string> {
  const { keyboard, stdin } = io;
  const secret = keyboard === undefined ? await stdin.line() : await typed(io, keyboard, name);
  if (secret !== undefined && secret !== "") return secret;
  throw new UsageError(`The ${name} is missing: type it when asked, or pipe it in as one line.`);
}

function typed(io: CommandIo, input: ReadStream, name: string): Promise<string | undefined> {
  // readline shows on its output what is typed, so the output shows nothing. Who answers the
  // prompt must find the terminal's own echo switched off, so the prompt comes after.
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output, terminal: true, historySize: 0 });
  io.stderr(`${name.charAt(0).toUpperCase()}${name.slice(1)}: `);
  const answer = new Promise<string | undefined>((resolve, reject) => {
    lines.once("line", resolve);
    lines.once("close", () => resolve(undefined));
    // The keyboard is read here, so Ctrl+C is a key and no signal.
    lines.once("SIGINT", () => reject(new Interrupted()));
    io.signal.addEventListener("abort", () => reject(new Interrupted()), { once: true });
  });
  return answer.finally(() => {
    lines.close();
    io.stderr("\n");
  });
}
