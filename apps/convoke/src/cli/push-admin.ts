import { ClientError, RemoteError } from "@convoke/client";
import { connectOptions, urlOf } from "./agent-options.ts";
import type { CommandContext } from "./command.ts";
import { objectField, textField } from "./json-fields.ts";

/** What the server says about one push config; nobody has checked it. */
export type PushReport = Readonly<Record<string, unknown>>;

/** The push configs of the caller in one state. */
export async function listPushes(
  context: CommandContext,
  state: string,
): Promise<readonly PushReport[]> {
  const path = `/convoke/pushes?state=${encodeURIComponent(state)}`;
  const { pushes } = await ask(context, { path });
  if (Array.isArray(pushes)) return pushes as readonly PushReport[];
  throw unreadable("names no pushes");
}

/** Tries again what was given up, and gives how many configs that are. */
export async function replayPushes(
  context: CommandContext,
  which: { readonly taskId?: string; readonly id?: string },
): Promise<number> {
  const { replayed } = await ask(context, { path: "/convoke/pushes:replay", body: which });
  if (typeof replayed === "number") return replayed;
  throw unreadable("does not say how many pushes it tries again");
}

/**
 * One request to the part of a Convoke server that is no A2A. The client speaks
 * A2A only, so this is the one place of the command line that calls `fetch`; a
 * token goes to the address that was typed, and a redirect elsewhere loses it.
 */
async function ask(
  context: CommandContext,
  { path, body }: { readonly path: string; readonly body?: object },
): Promise<Readonly<Record<string, unknown>>> {
  const { token, signal } = connectOptions(context);
  const url = `${baseOf(urlOf(context))}${path}`;
  const response = await reached(url, () =>
    fetch(url, {
      headers: {
        Accept: "application/json",
        ...(body !== undefined && { "Content-Type": "application/json" }),
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
      ...(signal && { signal }),
    }),
  );
  const text = await reached(url, () => response.text());
  if (response.ok) return objectField({ answer: parsed(text) }, "answer");
  throw refusal(response, text, url);
}

/** The address of the server: a person may also have typed that of its card. */
function baseOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname.replace(/\/(?:\.well-known\/)?[^/]+\.json$/, "").replace(/\/+$/, "")}`;
}

async function reached<T>(url: string, request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    // `fetch` says only "fetch failed"; the reason is its cause.
    const { message, code } = ((error as Error).cause ?? error) as NodeJS.ErrnoException;
    const problem = `could not reach ${url}: ${message || code}`;
    throw new ClientError("unreachable", problem, { cause: error });
  }
}

function refusal({ status, statusText }: Response, text: string, url: string): Error {
  // Servers that only speak A2A have nothing there, or take no such method anywhere.
  if (status === 404 || status === 405) {
    return new ClientError(
      "unsupported",
      `what is at ${new URL(url).origin} is no Convoke server, or an older one: it cannot tell about pushes`,
    );
  }
  const title = `HTTP ${status} ${statusText}`.trim();
  const message = textField(objectField(parsed(text), "error"), "message");
  return new RemoteError(message || title, { httpStatus: status });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function unreadable(problem: string): ClientError {
  return new ClientError("unreadable", `the answer of the server ${problem}`);
}
