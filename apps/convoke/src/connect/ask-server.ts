import { ClientError, ERRORS, RemoteError } from "@convoke/protocol";
import { createEgress } from "@convoke/egress";
import { type HttpAnswer, readText } from "@convoke/egress/http";
import { readUrl } from "./agent-options.ts";
import type { CommandContext } from "../terminal/command.ts";
import { readAuth, toRequestParts } from "./auth.ts";
import { objectField, textField } from "../terminal/json-fields.ts";

interface ServerQuestion {
  readonly path: string;
  /** A list is sent as several parameters with the same name. */
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  /** Makes it a POST. */
  readonly body?: object;
  readonly method?: "DELETE";
  /** The subject, for the error of a server without this API. */
  readonly about: string;
}

/**
 * One request to the admin API of a Convoke server, which is not part of A2A. Redirects to other
 * origins are not followed, so credentials are sent only to the given address.
 */
export async function askServer(
  context: CommandContext,
  { path, query: asked, body, method, about }: ServerQuestion,
): Promise<Readonly<Record<string, unknown>>> {
  const { signal } = context.io;
  const given = readUrl(context);
  const base = baseOf(given);
  const { headers, query } = await toRequestParts(await readAuth(context), given);
  const url = new URL(`${base}${path}`);
  for (const [name, values] of Object.entries({ ...asked, ...query }))
    for (const value of [values].flat()) url.searchParams.append(name, value);
  return request({ url: url.href, headers, body, method, signal, about });
}

async function request({
  url,
  headers,
  body,
  method,
  signal,
  about,
}: {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object | undefined;
  readonly method: ServerQuestion["method"];
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
      ...(method && { method }),
      signal,
    });
    const text = await readText(answer, signal);
    if (answer.status !== 200) throw refusal(answer, text, about);
    return objectField({ answer: parsed(text) }, "answer");
  } finally {
    egress.close();
  }
}

/** The address of the server, even if that of its card was given. */
function baseOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname.replace(/\/(?:\.well-known\/)?[^/]+\.json$/, "").replace(/\/+$/, "")}`;
}

function refusal({ status, statusText, url }: HttpAnswer, text: string, about: string): Error {
  const { code, reason } = objectField(parsed(text), "error");
  const isEntryMissing = code === ERRORS.TaskNotFound.code || reason === "unknown-agent";
  // Other A2A servers have nothing at this path, or do not allow the method.
  if ((status === 404 || status === 405) && !isEntryMissing) {
    return new ClientError(
      "unsupported",
      `the server at ${new URL(url).origin} is not a Convoke server, or an older one: it has no information about ${about}`,
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
  return new ClientError("unreadable", `the response of the server ${problem}`);
}
