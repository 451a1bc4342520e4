import { coloursFor, note } from "../terminal/output.ts";
import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { openCredentials } from "../credentials/credentials-file.ts";
import { oneLine } from "@convoke/protocol/internal";
import { readUrl, rejectMoreArguments } from "../connect/agent-options.ts";
import { askSecret } from "../credentials/ask-secret.ts";
import { checkToken } from "../connect/auth.ts";
import { isLoopback } from "../credentials/environment.ts";

export const loginCommand: Command = {
  name: "login",
  summary: "Store a token for the origin of an agent",
  usage: "<url> [options]",
  examples: [
    "convoke login https://agent.example",
    "pass show agent-token | convoke login https://agent.example",
  ],
  options: {
    token: {
      type: "string",
      value: "<token>",
      help: "The token (default: prompted for, or read from the first line of stdin)",
    },
    json: { type: "boolean", help: "Print remarks as JSON" },
  },
  environment: { XDG_CONFIG_HOME: "The folder of convoke/credentials.json (~/.config)" },
  run: login,
};

/** The token is not tested: whether it is valid shows when it is used. */
async function login(context: CommandContext): Promise<number> {
  const { io } = context;
  const url = readUrl(context);
  rejectMoreArguments(context);
  const { origin, protocol } = new URL(url);
  const file = openCredentials(io.env);
  // Find out that the file cannot be used before the user types a secret.
  file.origins();
  const token = context.text("token") ?? (await askSecret(io, "token"));
  file.store(origin, checkToken(token, origin));
  note(context, `Stored the token for ${origin} in ${file.path}. It is sent only to that origin.`);
  if (protocol === "http:" && !isLoopback(url)) {
    note(context, `${origin} does not use TLS: others on the network can read the token.`);
  }
  return EXIT.done.code;
}

export const logoutCommand: Command = {
  name: "logout",
  summary: "Delete the stored token of an origin",
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
    wasThere ? `Deleted the token for ${origin}.` : `There was no token for ${origin}.`,
  );
  return EXIT.done.code;
}

export const credentialsCommand: Command = {
  name: "credentials",
  summary: "List the origins that you have stored tokens for",
  usage: "[options]",
  examples: ["convoke credentials", "convoke credentials --json | jq '.origins[]'"],
  options: {
    json: { type: "boolean", help: "Print JSON instead of text" },
  },
  environment: { XDG_CONFIG_HOME: "The folder of convoke/credentials.json (~/.config)" },
  run: listCredentials,
};

/** Lists the origins; tokens are never printed. */
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
  const none = `No tokens are stored. ${io.started.program} login <url> stores one.`;
  io.stderr(`${dim(origins.length === 0 ? none : `In ${file.path}`)}\n`);
  return EXIT.done.code;
}
