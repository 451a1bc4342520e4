import type { FollowOptions } from "@convoke/client";
import type { CommandContext, CommandOption } from "./command.ts";
import { UsageError } from "./usage-error.ts";

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
