import { type CommandContext, type CommandOption, UsageError } from "../terminal/command.ts";
import type { FollowOptions } from "@convoke/client";

/** Who is calling. The client sends all of it to the origin of the address that was typed, and nowhere else. */
export const AUTH_OPTIONS = {
  token: {
    type: "string",
    value: "<token>",
    help: "Bearer token (default: that of convoke login, else CONVOKE_TOKEN; see below)",
  },
  header: {
    type: "string",
    value: '"Name: value"',
    multiple: true,
    help: "A header to send along, to the origin of <url> only; may be given several times",
  },
  "api-key": {
    type: "string",
    value: "<name>=<value>[:<in>]",
    help: "API key, in the header, the query or the cookie of that name (default: header)",
  },
  basic: {
    type: "string",
    value: "<user>",
    help: "Name and password; the password is asked for, or is the first line of stdin",
  },
} as const satisfies Record<string, CommandOption>;

/** The options of every command that speaks to an agent. */
export const AGENT_OPTIONS = {
  json: { type: "boolean", help: "Print JSON for programs instead of text for people" },
  ...AUTH_OPTIONS,
  binding: {
    type: "string",
    value: "<name>",
    help: "Speak jsonrpc, rest or grpc; several with commas, the favourite first",
  },
  "a2a-version": {
    type: "string",
    value: "<version>",
    help: "Speak A2A 0.3 or 1.0 (default: the newest that the agent offers)",
  },
  "require-signature": {
    type: "boolean",
    help: "Speak only to an agent whose card is signed by a key that can be verified",
  },
  "trust-key": {
    type: "string",
    value: "<file>",
    help: "A public key or key set (JWK) that signatures must be by; no other key counts",
  },
} as const satisfies Record<string, CommandOption>;

/** The options of commands about what only our servers have: that is no A2A, so there is no version to choose. */
export const SERVER_OPTIONS = {
  json: AGENT_OPTIONS.json,
  ...AUTH_OPTIONS,
} as const satisfies Record<string, CommandOption>;

/** The options of commands that say something. */
export const MESSAGE_OPTIONS = {
  context: { type: "string", value: "<id>", help: "Continue this conversation" },
  task: { type: "string", value: "<id>", help: "Answer the question of this task" },
} as const satisfies Record<string, CommandOption>;

/** What to do about a lost connection. */
export const RECONNECT_OPTIONS = {
  reconnect: {
    type: "string",
    value: "<seconds>",
    help: "How long to try again when the connection is lost (default: 300)",
  },
  "no-reconnect": { type: "boolean", help: "End when the connection is lost" },
  resend: {
    type: "boolean",
    help: "Send the message again when it may be lost, also to an agent that could take it twice",
  },
} as const satisfies Record<string, CommandOption>;

export function reconnectOf({ text, flag }: CommandContext): Pick<FollowOptions, "reconnect"> {
  const given = text("reconnect");
  const seconds = Number(given ?? "300");
  if (given !== undefined && !(given.trim() !== "" && seconds >= 0)) {
    throw new UsageError(`--reconnect takes a number of seconds, not "${given}".`);
  }
  if (flag("no-reconnect") && (given !== undefined || flag("resend"))) {
    throw new UsageError("--no-reconnect goes with neither --reconnect nor --resend.");
  }
  if (flag("no-reconnect") || seconds === 0) return { reconnect: false };
  return { reconnect: { forMs: seconds * 1000, resend: flag("resend") ? "always" : "safe" } };
}

/** What the commands that speak to an agent read of the environment. */
export const AGENT_ENVIRONMENT: Readonly<Record<string, string>> = {
  CONVOKE_TOKEN:
    "Bearer token, sent to this machine and to the origin of CONVOKE_URL, nowhere else",
  CONVOKE_URL: "The address of the agent that CONVOKE_TOKEN is for",
  XDG_CONFIG_HOME: "Where convoke/credentials.json of convoke login is (~/.config)",
  NO_COLOR: "Anything switches colours off",
};

/** The address that was typed first, checked before anything is sent. */
export function urlOf({ positionals }: CommandContext): string {
  const [text] = positionals;
  if (text === undefined) throw new UsageError("The address of the agent is missing.");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const guess = `http://${text}`;
    const advice = !text.includes("://") && URL.canParse(guess) ? ` Try ${guess}` : "";
    throw new UsageError(`"${text}" is not an http or https address.${advice}`);
  }
  if (url.username === "" && url.password === "") return text;
  throw new UsageError("An address holds no name and no password; give them with --basic <user>.");
}

/** The id of the task that was typed after the address. */
export function taskArgument({ positionals }: CommandContext): string | undefined {
  const [, taskId, ...more] = positionals;
  if (more.length > 0) throw new UsageError(`"${more[0]}" is one argument too many.`);
  if (taskId === "") throw new UsageError("The id of the task is empty.");
  return taskId;
}

/** For commands that take an address and no text. */
export function refuseText({ positionals }: CommandContext): void {
  if (positionals.length > 1) throw new UsageError(`"${positionals[1]}" is one argument too many.`);
}
