import { spawn } from "node:child_process";
import {
  ClientError,
  type OAuthOptions,
  type RawCard,
  type SignInPrompt,
  type StoredToken,
} from "@convoke/client";
import { openLoopbackRedirect } from "@convoke/client/loopback-redirect";
import { OAuthTokens } from "@convoke/client/oauth";
import type { HttpClient } from "@convoke/egress/http";
import { createEgress } from "@convoke/egress";
import { readAllow } from "./connect-options.ts";
import { type CommandContext, type CommandIo, UsageError } from "../terminal/command.ts";
import { note } from "../terminal/output.ts";
import type { StoredSignIn } from "../credentials/credentials-file.ts";
import { environmentClient } from "../credentials/environment.ts";

/** Signs a person in, if the agent or MCP server at the URL offers OAuth. */
export async function signIn(
  context: CommandContext,
  url: string,
  card: RawCard | "none",
): Promise<StoredSignIn | undefined> {
  const tokens: Record<string, StoredToken> = {};
  const options = readOptions(context, tokens);
  const { issuer, clientId } = options;
  const client = createEgress({
    trusted: issuer === undefined ? [url] : [url, issuer],
    allow: readAllow(context.texts("allow")),
  });
  const given = { options, url, client, ...(card !== "none" && { card }) };
  try {
    const asks = await challengeOf(client, url, context.io.signal);
    const source = await new OAuthTokens(given).signIn(asks);
    if (source === undefined) return undefined;
    return {
      issuer: source.issuer,
      ...(clientId !== undefined && { clientId }),
      ...(source.resource !== undefined && { resource: source.resource }),
      scopes: source.scopes,
      tokens,
    };
  } finally {
    client.close();
  }
}

/** The options of the command line. New tokens are put into `tokens`. */
function readOptions(context: CommandContext, tokens: Record<string, StoredToken>): OAuthOptions {
  const { io, text, texts, flag } = context;
  const fromEnvironment = environmentClient(io.env);
  const scopes = texts("scope");
  const withBrowser = flag("browser") || (io.keyboard !== undefined && !flag("device"));
  return {
    clientId: text("client-id") ?? fromEnvironment.clientId,
    issuer: readIssuer(text("issuer") ?? fromEnvironment.issuer),
    ...(scopes.length > 0 && { scopes }),
    store: {
      get: async () => undefined,
      set: async (key, token) => void (tokens[key] = token),
      delete: async () => undefined,
    },
    signIn: {
      show: (prompt) => show(context, prompt),
      signal: io.signal,
      ...(withBrowser && { openRedirect: openLoopbackRedirect }),
    },
  };
}

function readIssuer(text: string | undefined): string | undefined {
  if (text === undefined || (URL.canParse(text) && /^https?:/.test(text))) return text;
  throw new UsageError(`--issuer must be an address such as https://id.example, not "${text}".`);
}

/** The `WWW-Authenticate` header of a 401, if a request without credentials gets one. */
async function challengeOf(client: HttpClient, url: string, signal: AbortSignal): Promise<string> {
  try {
    const answer = await client.request({ url, headers: { Accept: "application/json" }, signal });
    // The body is not needed, and it may be a stream without an end.
    await answer.body[Symbol.asyncIterator]().return?.();
    return answer.status === 401 ? (answer.headers["www-authenticate"] ?? "") : "";
  } catch (error) {
    if (error instanceof ClientError) return "";
    throw error;
  }
}

function show(context: CommandContext, prompt: SignInPrompt): void {
  const { issuer, scopes, url } = prompt;
  const what = scopes.length === 0 ? "" : ` It asks for: ${scopes.join(", ")}.`;
  note(context, `The agent wants you to sign in at ${issuer}.${what}`, { issuer, scopes });
  if (prompt.kind === "device") {
    const { code, urlWithCode } = prompt;
    const shorter = urlWithCode === undefined ? "" : ` (or open ${urlWithCode})`;
    note(context, `Open ${url} on any device and enter the code ${code}${shorter}`, { url, code });
    return;
  }
  note(context, `Open this page: ${url}`, { url });
  openBrowser(context.io, url);
}

const OPENERS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
  linux: ["xdg-open"],
};

/** Opens the page in the person's browser, if there is one. The address was printed in any case. */
function openBrowser({ keyboard, env }: CommandIo, url: string): void {
  const [program, ...args] = OPENERS[process.platform] ?? [];
  const hasScreen = process.platform !== "linux" || env["DISPLAY"] || env["WAYLAND_DISPLAY"];
  if (program === undefined || keyboard === undefined || !hasScreen) return;
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}
