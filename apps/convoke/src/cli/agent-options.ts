import { type ConnectOptions, type RemoteAgent, connect, isToken } from "@convoke/client";
import type { CommandContext, CommandOption } from "./command.ts";
import { UsageError } from "./usage-error.ts";

/** The options of every command that speaks to an agent. */
export const AGENT_OPTIONS = {
  json: { type: "boolean", help: "Print JSON for programs instead of text for people" },
  token: {
    type: "string",
    value: "<token>",
    help: "Bearer token, sent to the origin of <url> only (default: CONVOKE_TOKEN)",
  },
  protocol: {
    type: "string",
    value: "<version>",
    help: "Speak A2A 0.3 or 1.0 (default: the newest that the agent offers)",
  },
} as const satisfies Record<string, CommandOption>;

/** The options of commands that say something. */
export const MESSAGE_OPTIONS = {
  context: { type: "string", value: "<id>", help: "Continue this conversation" },
  task: { type: "string", value: "<id>", help: "Answer the question of this task" },
} as const satisfies Record<string, CommandOption>;

/** The address that was typed first, checked before anything is sent. */
export function urlOf({ positionals }: CommandContext): string {
  const [url] = positionals;
  if (url === undefined) throw new UsageError("The address of the agent is missing.");
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  const guess = `http://${url}`;
  const advice = !url.includes("://") && URL.canParse(guess) ? ` Try ${guess}` : "";
  throw new UsageError(`"${url}" is not an http or https address.${advice}`);
}

/** The one text after the address. */
export function textArgument({ positionals }: CommandContext): string {
  const [, text, ...more] = positionals;
  if (text === undefined) throw new UsageError("The text for the agent is missing.");
  if (more.length === 0) return text;
  throw new UsageError(`Put quotes around the text: "${[text, ...more].join(" ")}".`);
}

/** For commands that take an address and no text. */
export function refuseText({ positionals }: CommandContext): void {
  if (positionals.length > 1) throw new UsageError(`"${positionals[1]}" is one argument too many.`);
}

/** How to connect, as the options say. */
export function connectOptions({ text, io }: CommandContext): ConnectOptions {
  const version = text("protocol");
  if (version !== undefined && version !== "0.3" && version !== "1.0") {
    throw new UsageError(`--protocol must be 0.3 or 1.0, not "${version}".`);
  }
  const token = text("token") ?? (io.env["CONVOKE_TOKEN"] || undefined);
  if (token !== undefined && !isToken(token)) {
    throw new UsageError("The token holds characters that no token can have.");
  }
  return { token, version, signal: io.signal };
}

/** Connects to the agent at the address that was typed. */
export async function openAgent(context: CommandContext): Promise<RemoteAgent> {
  return connect(urlOf(context), connectOptions(context));
}
