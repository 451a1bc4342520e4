import { coloursFor, note } from "../terminal/output.ts";
import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { openCredentials } from "../credentials/credentials-file.ts";
import { oneLine } from "@convoke/protocol/internal";
import { refuseText, urlOf } from "../connect/agent-options.ts";
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
      help: "The token (default: it is asked for, or is the first line of stdin)",
    },
    json: { type: "boolean", help: "Print remarks as JSON" },
  },
  environment: { XDG_CONFIG_HOME: "Where convoke/credentials.json is (~/.config)" },
  run: login,
};

/** Nobody is called: what a token is worth shows when it is used. */
async function login(context: CommandContext): Promise<number> {
  const { io } = context;
  const url = urlOf(context);
  refuseText(context);
  const { origin, protocol } = new URL(url);
  const file = openCredentials(io.env);
  // A file that will be refused is better known before a secret is typed.
  file.origins();
  const token = context.text("token") ?? (await askSecret(io, "token"));
  file.store(origin, checkToken(token, origin));
  note(context, `The token for ${origin} is in ${file.path}. It is sent to that origin only.`);
  if (protocol === "http:" && !isLoopback(url)) {
    note(context, `${origin} has no TLS: whoever is on the way there can read the token.`);
  }
  return EXIT.done.code;
}

export const logoutCommand: Command = {
  name: "logout",
  summary: "Forget the token of an origin",
  usage: "<url> [options]",
  examples: ["convoke logout https://agent.example"],
  options: { json: { type: "boolean", help: "Print remarks as JSON" } },
  environment: { XDG_CONFIG_HOME: "Where convoke/credentials.json is (~/.config)" },
  run: logout,
};

async function logout(context: CommandContext): Promise<number> {
  const { origin } = new URL(urlOf(context));
  refuseText(context);
  const wasThere = openCredentials(context.io.env).remove(origin);
  note(
    context,
    wasThere ? `The token for ${origin} is forgotten.` : `There was no token for ${origin}.`,
  );
  return EXIT.done.code;
}

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
