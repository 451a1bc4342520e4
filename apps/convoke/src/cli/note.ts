import type { CommandContext } from "./command.ts";
import { printable } from "@convoke/protocol/internal";

/** A remark on stderr: a line for people, or under --json an object, so that programs can read both streams. */
export function note(
  { io, flag }: Pick<CommandContext, "io" | "flag">,
  message: string,
  more: Readonly<Record<string, unknown>> = {},
): void {
  const line = flag("json") ? JSON.stringify({ notice: { message, ...more } }) : printable(message);
  io.stderr(`${line}\n`);
}
