import { isLoopbackHost } from "@convoke/protocol/internal";
import { type CommandIo, UsageError } from "../terminal/command.ts";

/**
 * CONVOKE_TOKEN is also the token that a local server requires, so by default it is sent to this
 * machine only. CONVOKE_URL names the one other origin that it may be sent to.
 */
export function environmentToken(env: CommandIo["env"], url: string): string | undefined {
  const token = env["CONVOKE_TOKEN"] || undefined;
  return token !== undefined && isFor(env, url) ? token : undefined;
}

/** Whether CONVOKE_TOKEN is set but must not be sent to this URL. */
export function isWithheld(env: CommandIo["env"], url: string): boolean {
  return Boolean(env["CONVOKE_TOKEN"]) && !isFor(env, url);
}

function isFor(env: CommandIo["env"], url: string): boolean {
  if (isLoopback(url)) return true;
  const named = env["CONVOKE_URL"] || undefined;
  if (named === undefined) return false;
  if (!URL.canParse(named)) {
    throw new UsageError(`CONVOKE_URL must be an address such as https://agent.example.`);
  }
  return new URL(named).origin === new URL(url).origin;
}

/** Whether the host name of the URL is this machine. The URL parser normalizes all spellings. */
export function isLoopback(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname);
}
