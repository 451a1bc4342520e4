import { coloursFor, note } from "../terminal/output.ts";
import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { openCredentials } from "../credentials/credentials-file.ts";
import { oneLine } from "@convoke/protocol/internal";
import { readUrl, rejectMoreArguments } from "../connect/agent-options.ts";

export const logoutCommand: Command = {
  name: "logout",
  summary: "Delete the stored token, key or sign-in of an origin",
  usage: "<url> [options]",
  examples: ["convoke logout https://agent.example"],
  options: { json: { type: "boolean", help: "Print remarks as JSON" } },
  environment: { XDG_CONFIG_HOME: "The folder of convoke/credentials.json (~/.config)" },
  run: logout,
};

async function logout(context: CommandContext): Promise<number> {
  const { origin } = new URL(readUrl(context));
  rejectMoreArguments(context);
  const wasThere = openCredentials(context.io.env).remove(origin);
  note(
    context,
    wasThere
      ? `Deleted the credentials for ${origin}.`
      : `There were no credentials for ${origin}.`,
  );
  return EXIT.done.code;
}

export const credentialsCommand: Command = {
  name: "credentials",
  summary: "List the origins that you have stored credentials for",
  usage: "[options]",
  examples: ["convoke credentials", "convoke credentials --json | jq '.origins[]'"],
  options: {
    json: { type: "boolean", help: "Print JSON instead of text" },
  },
  environment: { XDG_CONFIG_HOME: "The folder of convoke/credentials.json (~/.config)" },
  run: listCredentials,
};

/** Lists the origins and the issuers of sign-ins; secrets are never printed. */
async function listCredentials({ io, positionals, flag }: CommandContext): Promise<number> {
  if (positionals.length > 0) throw new UsageError("convoke credentials takes no arguments.");
  const file = openCredentials(io.env);
  const origins = file.origins();
  const signIns = Object.fromEntries(
    origins.flatMap((origin) => {
      const found = file.find(origin);
      return found !== undefined && "signIn" in found ? [[origin, found.signIn.issuer]] : [];
    }),
  );
  if (flag("json")) {
    io.stdout(`${JSON.stringify({ file: file.path, origins, signIns })}\n`);
    return EXIT.done.code;
  }
  const { dim } = coloursFor(io, "stderr");
  for (const origin of origins) {
    const issuer = signIns[origin];
    const how = issuer === undefined ? "" : ` signed in at ${issuer}`;
    io.stdout(`${oneLine(`${origin}${how}`)}\n`);
  }
  const none = `No credentials are stored. ${io.started.program} login <url> stores some.`;
  io.stderr(`${dim(origins.length === 0 ? none : `In ${file.path}`)}\n`);
  return EXIT.done.code;
}
