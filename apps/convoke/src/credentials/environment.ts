import { type CommandIo, UsageError } from "../terminal/command.ts";

/**
 * CONVOKE_TOKEN is what a server here asks its callers for, so by itself it
 * goes to this machine only. CONVOKE_URL names the one other origin that it is for.
 */
export function environmentToken(env: CommandIo["env"], url: string): string | undefined {
  const token = env["CONVOKE_TOKEN"] || undefined;
  return token !== undefined && isFor(env, url) ? token : undefined;
}

/** Whether there is one that is for somebody else. */
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

/** Whether the URL leads to this machine by its very name. The parser brings every spelling to one. */
export function isLoopback(url: string): boolean {
  const host = new URL(url).hostname.replace(/\.$/, "");
  return (
    host === "localhost" ||
    host.endsWith(".localhost") ||
    host === "[::1]" ||
    /^127(?:\.\d{1,3}){3}$/.test(host)
  );
}
