import { createInterface } from "node:readline";
import type { ReadStream } from "node:tty";
import { type CommandContext, type CommandOption, Interrupted, UsageError } from "./command.ts";

export const YES_OPTION = {
  yes: { type: "boolean", short: "y", help: "Do not ask whether you are sure" },
} as const satisfies Record<string, CommandOption>;

/** Asks whether the user is sure, unless --yes was given. A program that runs the command must give it. */
export async function confirm(context: CommandContext, question: string): Promise<boolean> {
  if (context.flag("yes")) return true;
  const { keyboard } = context.io;
  if (keyboard === undefined) throw new UsageError(`${question} Confirm it with --yes.`);
  return /^y(?:es)?$/i.test(await typedLine(context, keyboard, `${question} [y/N] `));
}

function typedLine(
  { io }: CommandContext,
  keyboard: ReadStream,
  question: string,
): Promise<string> {
  const lines = createInterface({ input: keyboard, terminal: false });
  io.stderr(question);
  const answer = new Promise<string>((resolve, reject) => {
    lines.once("line", (line) => resolve(line.trim()));
    lines.once("close", () => resolve(""));
    io.signal.addEventListener("abort", () => reject(new Interrupted()), { once: true });
  });
  return answer.finally(() => lines.close());
}
