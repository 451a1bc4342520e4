import { refuseText, urlOf } from "./agent-options.ts";
import type { Command, CommandContext } from "./command.ts";
import { askSecret } from "./credentials/ask-secret.ts";
import { checkToken } from "./credentials/auth-of.ts";
import { isLoopback } from "./credentials/is-loopback.ts";
import { openCredentials } from "./credentials/open-credentials.ts";
import { EXIT } from "./exit-code.ts";
import { note } from "./note.ts";

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
