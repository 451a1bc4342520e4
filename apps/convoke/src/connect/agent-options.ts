import { type CommandContext, type CommandOption, UsageError } from "../terminal/command.ts";
import type { FollowOptions, RequestOptions } from "@convoke/client";
import { type Metadata, TASK_STATES, type TaskState } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { didYouMean } from "../terminal/command-line.ts";

/** Credentials. They are sent only to the origin of the given address. */
export const AUTH_OPTIONS = {
  token: {
    type: "string",
    value: "<token>",
    help: "Bearer token (default: as stored by convoke login, else CONVOKE_TOKEN or CONVOKE_CLIENT_ID; see below)",
  },
  header: {
    type: "string",
    value: '"Name: value"',
    multiple: true,
    help: "Additional header, sent to the origin of <url> only; can be repeated",
  },
  "api-key": {
    type: "string",
    value: "<name>=<value>[:<in>]",
    help: "API key, sent as a header, query parameter or cookie (default: header)",
  },
  basic: {
    type: "string",
    value: "<user>",
    help: "User name for basic authentication; the password is prompted for, or read from the first line of stdin",
  },
} as const satisfies Record<string, CommandOption>;

/** The options of every command that calls an agent. */
export const AGENT_OPTIONS = {
  json: { type: "boolean", help: "Print JSON instead of text" },
  ...AUTH_OPTIONS,
  binding: {
    type: "string",
    value: "<name>",
    choices: ["jsonrpc", "rest", "grpc"],
    help: "Use jsonrpc, rest or grpc; separate several with commas, preferred first",
  },
  "a2a-version": {
    type: "string",
    value: "<version>",
    choices: ["0.3", "1.0"],
    help: "Use A2A 0.3 or 1.0 (default: the newest that the agent offers)",
  },
  allow: {
    type: "string",
    value: "<host>",
    multiple: true,
    help: "Private host, host:port or network that the card may lead to; can be repeated",
  },
  extension: {
    type: "string",
    value: "<uri>",
    multiple: true,
    help: "Activate this A2A extension; can be repeated",
  },
  cert: {
    type: "string",
    value: "<file>",
    help: "Client certificate (PEM), presented to the origin of <url> only",
  },
  "cert-key": {
    type: "string",
    value: "<file>",
    help: "Private key of --cert (default: in the same file)",
  },
  ca: {
    type: "string",
    value: "<file>",
    help: "With --cert: authorities (PEM) that may have signed the certificate of the agent",
  },
  "require-signature": {
    type: "boolean",
    help: "Require a card whose signature can be verified",
  },
  "trust-key": {
    type: "string",
    value: "<file>",
    help: "Public key or key set (JWK) that the card must be signed with; no other key is trusted",
  },
} as const satisfies Record<string, CommandOption>;

/** The options of commands that use the admin API of Convoke servers. It is not A2A, so there is no binding or version. */
export const SERVER_OPTIONS = {
  json: AGENT_OPTIONS.json,
  ...AUTH_OPTIONS,
} as const satisfies Record<string, CommandOption>;

/** Whose tasks a command of the admin API is about. */
export const OWNER_OPTION = {
  owner: {
    type: "string",
    value: "'*'",
    help: "'*' for those of all owners, if your role allows it (default: your own)",
  },
} as const satisfies Record<string, CommandOption>;

/** The parameters of the query for `--owner`. */
export function readOwner({ text }: CommandContext): Readonly<Record<string, string>> {
  const owner = text("owner");
  if (owner === undefined) return {};
  if (owner === "*") return { owner };
  throw new UsageError(`--owner must be '*' (in quotes), for all owners, not "${owner}".`);
}

/** `--owner` in the next command that is suggested to the user. */
export function ownerWords(context: CommandContext): readonly string[] {
  return Object.entries(readOwner(context)).flatMap(([name, value]) => [`--${name}`, value]);
}

/** Without `unknown`, which stands for states that this version does not know. */
const STATES = TASK_STATES.filter((state) => state !== "unknown");

/** Which tasks a command is about. */
export const STATE_OPTION = {
  state: {
    type: "string",
    value: "<state>",
    choices: STATES,
    help: `Only tasks in this state: ${STATES.join(", ")}`,
  },
} as const satisfies Record<string, CommandOption>;

export function readState({ text }: CommandContext): TaskState | undefined {
  const value = text("state");
  const state = STATES.find((name) => name === value);
  if (value === undefined || state !== undefined) return state;
  throw new UsageError(
    `--state must be one of ${STATES.join(", ")}, not "${value}".${didYouMean(value, STATES)}`,
  );
}

/** The options of commands that send a message. */
export const MESSAGE_OPTIONS = {
  context: { type: "string", value: "<id>", help: "Continue this conversation" },
  task: { type: "string", value: "<id>", help: "Answer the question of this task" },
  metadata: { type: "string", value: "<json>", help: "Metadata of the request, a JSON object" },
  accept: {
    type: "string",
    value: "<types>",
    help: "Media types that you accept, separated by commas, for example text/plain",
  },
  history: {
    type: "string",
    value: "<n>",
    help: "Maximum number of earlier messages in the returned task (see --json)",
  },
} as const satisfies Record<string, CommandOption>;

/** What the request carries in addition to the message. */
export function readRequest({ text }: CommandContext): RequestOptions {
  const modes = text("accept")
    ?.split(",")
    .map((mode) => mode.trim());
  if (modes?.includes("") === true) {
    throw new UsageError("--accept takes media types separated by commas, such as text/plain.");
  }
  return {
    metadata: readMetadata(text("metadata")),
    acceptedOutputModes: modes,
    historyLength: readHistory(text("history")),
  };
}

function readMetadata(text: string | undefined): Metadata | undefined {
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Reported below.
  }
  if (isObject(value)) return value;
  throw new UsageError(`--metadata must be a JSON object in single quotes, such as '{"a":1}'.`);
}

/** The value of --history. */
export function readHistory(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`--history must be a number of messages, 0 or more, not "${text}".`);
}

/** How to handle a lost connection. */
export const RECONNECT_OPTIONS = {
  reconnect: {
    type: "string",
    value: "<seconds>",
    help: "How long to try to reconnect after a lost connection (default: 300)",
  },
  "no-reconnect": { type: "boolean", help: "Stop when the connection is lost" },
  resend: {
    type: "boolean",
    help: "Resend a message that may be lost, even if the agent might process it twice",
  },
} as const satisfies Record<string, CommandOption>;

export function readReconnect({ text, flag }: CommandContext): Pick<FollowOptions, "reconnect"> {
  const given = text("reconnect");
  const seconds = Number(given ?? "300");
  if (given !== undefined && !(given.trim() !== "" && seconds >= 0)) {
    throw new UsageError(`--reconnect takes a number of seconds, not "${given}".`);
  }
  if (flag("no-reconnect") && (given !== undefined || flag("resend"))) {
    throw new UsageError("--no-reconnect cannot be combined with --reconnect or --resend.");
  }
  if (flag("no-reconnect") || seconds === 0) return { reconnect: false };
  return { reconnect: { forMs: seconds * 1000, resend: flag("resend") ? "always" : "safe" } };
}

/** Environment variables of the commands that call an agent. */
export const AGENT_ENVIRONMENT: Readonly<Record<string, string>> = {
  CONVOKE_TOKEN: "Bearer token, sent only to this machine and to the origin of CONVOKE_URL",
  CONVOKE_CLIENT_ID: "Id of this program at CONVOKE_ISSUER, to get OAuth tokens with",
  CONVOKE_CLIENT_SECRET: "Its secret, sent only to CONVOKE_ISSUER; used like CONVOKE_TOKEN",
  CONVOKE_ISSUER: "The URL of the OAuth issuer that you trust",
  CONVOKE_URL: "The address of the agent that these credentials are for",
  XDG_CONFIG_HOME:
    "The folder of convoke/credentials.json, where convoke login stores credentials (~/.config)",
  NO_COLOR: "Set it to any value to switch colours off",
};

/** The address in the first argument, validated before anything is sent. */
export function readUrl({ positionals }: CommandContext): string {
  const [text] = positionals;
  if (text === undefined) throw new UsageError("The address of the agent is missing.");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const guess = `http://${text}`;
    const advice = !text.includes("://") && URL.canParse(guess) ? ` Try ${guess}` : "";
    throw new UsageError(`"${text}" is not an http or https address.${advice}`);
  }
  if (url.username === "" && url.password === "") return text;
  throw new UsageError(
    "Remove the user name and password from the address; use --basic <user> instead.",
  );
}

/** The origin in the value of an option. */
export function readOrigin(option: string, value: string): string {
  if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) {
    return new URL(value).origin;
  }
  throw new UsageError(
    `--${option} must be an origin such as https://example.com, not "${value}".`,
  );
}

/** The task id in the second argument, if there is one. */
export function readTaskId({ positionals }: CommandContext): string | undefined {
  const [, taskId, ...more] = positionals;
  if (more.length > 0) throw new UsageError(`"${more[0]}" is an unexpected argument.`);
  if (taskId === "") throw new UsageError("The task id is empty.");
  return taskId;
}

/** Rejects further arguments, for commands that take only an address. */
export function rejectMoreArguments({ positionals }: CommandContext): void {
  if (positionals.length > 1)
    throw new UsageError(`"${positionals[1]}" is an unexpected argument.`);
}
