import { coloursFor } from "./colours.ts";
import type { Command, CommandContext } from "./command.ts";
import { openCredentials } from "./credentials/open-credentials.ts";
import { EXIT } from "./exit-code.ts";
import { oneLine } from "@convoke/protocol/internal";
import { UsageError } from "./usage-error.ts";

export const credentialsCommand: Command = {
  name: "credentials",
  summary: "List the origins that you have stored tokens for",
  usage: "[options]",
  examples: ["convoke credentials", "convoke credentials --json | jq '.origins[]'"],
  options: {
    json: { type: "boolean", help: "Print JSON for programs instead of text for people" },
  },
  environment: { XDG_CONFIG_HOME: "Where convoke/credentials.json is (~/.config)" },
  run: listCredentials,
};

/** The tokens themselves are shown to nobody. */
async function listCredentials({ io, positionals, flag }: CommandContext): Promise<number> {
  if (positionals.length > 0) throw new UsageError("convoke credentials takes no arguments.");
  const file = openCredentials(io.env);
  const origins = file.origins();
  if (flag("json")) {
    io.stdout(`${JSON.stringify({ file: file.path, origins })}\n`);
    return EXIT.done.code;
  }
  const { dim } = coloursFor(io, "stderr");
  for (const origin of origins) io.stdout(`${oneLine(origin)}\n`);
  const none = "No tokens are stored. convoke login <url> stores one.";
  io.stderr(`${dim(origins.length === 0 ? none : `In ${file.path}`)}\n`);
  return EXIT.done.code;
}
