import { type ApiKey, ClientError, type RawCard, discover } from "@convoke/client";
import { type SecurityScheme, readCardSecurity } from "@convoke/protocol";
import { readUrl, rejectMoreArguments } from "../connect/agent-options.ts";
import { checkToken } from "../connect/auth.ts";
import { readAllow } from "../connect/connect-options.ts";
import { askSecret } from "../credentials/ask-secret.ts";
import {
  type CredentialsFile,
  type StoredCredentials,
  openCredentials,
} from "../credentials/credentials-file.ts";
import { isLoopback } from "../credentials/environment.ts";
import { signIn } from "../connect/sign-in.ts";
import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { note } from "../terminal/output.ts";

export const loginCommand: Command = {
  name: "login",
  summary: "Sign in to an agent or MCP server, or store a token or key for it",
  usage: "<url> [options]",
  examples: [
    "convoke login https://agent.example",
    "convoke login https://agent.example --device",
    "pass show agent-token | convoke login https://agent.example",
  ],
  options: {
    token: {
      type: "string",
      value: "<token>",
      help: "Store this token (default: asked for if the agent wants one, or the first line of stdin)",
    },
    browser: {
      type: "boolean",
      help: "Sign in with a browser on this machine (default at a terminal)",
    },
    device: {
      type: "boolean",
      help: "Sign in with a code on any device (default without a terminal)",
    },
    "client-id": {
      type: "string",
      value: "<id>",
      help: "Id of this program at the issuer (default: CONVOKE_CLIENT_ID, else it registers itself)",
    },
    issuer: {
      type: "string",
      value: "<url>",
      help: "The issuer that you trust (default: CONVOKE_ISSUER, else the one that the agent names)",
    },
    scope: {
      type: "string",
      value: "<scope>",
      multiple: true,
      help: "Scope to ask for (default: what the agent requires); can be repeated",
    },
    allow: {
      type: "string",
      value: "<host>",
      multiple: true,
      help: "Private host, host:port or network that the agent may lead to; can be repeated",
    },
    json: { type: "boolean", help: "Print remarks as JSON" },
  },
  environment: {
    CONVOKE_CLIENT_ID: "Id of this program at the issuer",
    CONVOKE_ISSUER: "The URL of the OAuth issuer that you trust",
    XDG_CONFIG_HOME: "The folder of convoke/credentials.json (~/.config)",
  },
  run: login,
};

/** A token that was given is stored without a request: whether it is valid shows when it is used. */
async function login(context: CommandContext): Promise<number> {
  const { io } = context;
  const url = readUrl(context);
  rejectMoreArguments(context);
  if (context.flag("browser") && context.flag("device")) {
    throw new UsageError("--browser and --device are two ways to sign in; use only one.");
  }
  const file = openCredentials(io.env);
  // Find out that the file cannot be used before the user types a secret.
  file.origins();
  const given = context.text("token") ?? (await pipedSecret(context));
  if (given !== undefined) return keepToken(context, file, given);
  const card = await readCard(context, url);
  const signedIn = card === "unreachable" ? undefined : await signIn(context, url, card);
  if (signedIn !== undefined) {
    note(context, `Signed in at ${signedIn.issuer}.`);
    return keep(context, file, "sign-in", { signIn: signedIn });
  }
  const key = typeof card === "object" ? findApiKey(card) : undefined;
  if (key === undefined) return keepToken(context, file, await askSecret(io, "token"));
  note(context, `The agent wants an API key, sent as the ${key.in} ${key.name}.`);
  const value = checkToken(await askSecret(io, "API key"), new URL(url).origin);
  return keep(context, file, "API key", { apiKey: { ...key, value } });
}

/** The first line of standard input, if it is not a terminal and the user did not ask to sign in. */
async function pipedSecret({ io, flag }: CommandContext): Promise<string | undefined> {
  if (io.keyboard !== undefined || flag("browser") || flag("device")) return undefined;
  return (await io.stdin.line()) || undefined;
}

/** The card, if there is one: an MCP server has none, and an agent may not be reachable now. */
async function readCard(
  context: CommandContext,
  url: string,
): Promise<RawCard | "none" | "unreachable"> {
  const allow = readAllow(context.texts("allow"));
  try {
    return (await discover(url, { cache: false, allow, signal: context.io.signal })).card;
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    if (error.kind === "no-card") return "none";
    if (error.kind !== "unreachable") throw error;
    note(context, `${error.message}. A token can be stored anyway.`);
    return "unreachable";
  }
}

/** The API key that the card asks for, if it asks for nothing but that. */
function findApiKey(card: RawCard): Pick<ApiKey, "in" | "name"> | undefined {
  const { schemes, requirements } = readCardSecurity(card);
  const alternatives = requirements.map((alternative) => Object.keys(alternative));
  for (const [name = "", ...others] of alternatives) {
    const scheme: SecurityScheme | undefined = schemes[name];
    if (others.length === 0 && scheme?.type === "apiKey")
      return { in: scheme.in, name: scheme.name };
    if (scheme?.type === "http" && scheme.scheme.toLowerCase() === "bearer") return undefined;
  }
  return undefined;
}

function keepToken(context: CommandContext, file: CredentialsFile, token: string): number {
  const { origin } = new URL(readUrl(context));
  return keep(context, file, "token", { token: checkToken(token, origin) });
}

function keep(
  context: CommandContext,
  file: CredentialsFile,
  what: string,
  credentials: StoredCredentials,
): number {
  const url = readUrl(context);
  const { origin, protocol } = new URL(url);
  file.store(origin, credentials);
  note(
    context,
    `Stored the ${what} for ${origin} in ${file.path}. It is sent only to that origin.`,
  );
  if (protocol === "http:" && !isLoopback(url)) {
    note(context, `${origin} does not use TLS: others on the network can read the ${what}.`);
  }
  return EXIT.done.code;
}
