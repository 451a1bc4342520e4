import type { Input } from "@convoke/client";
import { textPart } from "@convoke/protocol";
import type { CommandContext, CommandOption } from "../command.ts";
import { UsageError } from "../usage-error.ts";
import { readDataPart } from "./data-option.ts";
import { readFilePart } from "./file-option.ts";

/** What can be said besides the text. */
export const INPUT_OPTIONS = {
  file: {
    type: "string",
    value: "<path>[:<media type>]",
    multiple: true,
    help: "Send this file along; may be given several times",
  },
  data: {
    type: "string",
    value: "<json>",
    multiple: true,
    help: "Send this JSON along; may be given several times",
  },
} as const satisfies Record<string, CommandOption>;

/**
 * What is said to the agent. The text is an argument; `-`, or none where
 * something is piped in, is standard input. Files and data alone are enough.
 */
export async function readInput(context: CommandContext): Promise<Input> {
  const [, text, ...more] = context.positionals;
  if (more.length > 0) {
    throw new UsageError(`Put quotes around the text: "${[text, ...more].join(" ")}".`);
  }
  const parts = [
    ...context.texts("file").map(readFilePart),
    ...context.texts("data").map(readDataPart),
  ];
  const said = await textOf(context, text, parts.length > 0);
  if (parts.length === 0) return said;
  return said === "" ? parts : [textPart(said), ...parts];
}

async function textOf(
  { io }: CommandContext,
  argument: string | undefined,
  hasParts: boolean,
): Promise<string> {
  if (argument !== undefined && argument !== "-") return argument;
  if (argument === undefined && hasParts) return "";
  // At a keyboard only "-" says that somebody will type and end it with Ctrl+D.
  const isPiped = io.keyboard === undefined || argument === "-";
  const text = isPiped ? await io.stdin.rest() : "";
  if (text !== "" || hasParts) return text;
  throw new UsageError("The text for the agent is missing.");
}
