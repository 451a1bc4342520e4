import { ClientError, RemoteError } from "@convoke/protocol";
import { createEgress } from "@convoke/egress";
import { type HttpAnswer, readText } from "@convoke/egress/http";
import { urlOf } from "./agent-options.ts";
import type { CommandContext } from "../terminal/command.ts";
import { authOf, carriedBy } from "./auth.ts";
import { objectField, textField } from "../terminal/json-fields.ts";

interface ServerQuestion {
  readonly path: string;
  /** Makes it a POST. */
  readonly body?: object;
  /** What the server is to know about, for the error of one that does not. */
  readonly about: string;
}

/**
 * One request to the part of a Convoke server that is no A2A. The client speaks
 * A2A only, so this goes out by itself; credentials go to the address that was
 * typed and nowhere else, because no redirect leads to another origin.
 */
export async function askServer(
  context: CommandContext,
  { path, body, about }: ServerQuestion,
): Promise<Readonly<Record<string, unknown>>> {
  const { signal } = context.io;
  const base = baseOf(urlOf(context));
  const { headers, query } = carriedBy(await authOf(context));
  const url = new URL(`${base}${path}`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return request({ url: url.href, headers, body, signal, about });
}

async function request({
  url,
  headers,
  body,
  signal,
  about,
}: {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object | undefined;
  readonly signal: AbortSignal;
  readonly about: string;
}): Promise<Readonly<Record<string, unknown>>> {
  const egress = createEgress({ trusted: [url] });
  try {
    const answer = await egress.request({
      url,
      headers: {
        Accept: "application/json",
        ...(body !== undefined && { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal,
    });
    const text = await readText(answer, signal);
    if (answer.status !== 200) throw refusal(answer, text, about);
    return objectField({ answer: parsed(text) }, "answer");
  } finally {
    egress.close();
  }
}

/** The address of the server: a person may also have typed that of its card. */
function baseOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname.replace(/\/(?:\.well-known\/)?[^/]+\.json$/, "").replace(/\/+$/, "")}`;
}

function refusal({ status, statusText, url }: HttpAnswer, text: string, about: string): Error {
  // Servers that only speak A2A have nothing there, or take no such method anywhere.
  if (status === 404 || status === 405) {
    return new ClientError(
      "unsupported",
      `what is at ${new URL(url).origin} is no Convoke server, or an older one: it cannot tell about ${about}`,
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

export function unreadable(problem: string): ClientError {
  return new ClientError("unreadable", `the answer of the server ${problem}`);
}
