import { ClientError, ERRORS, RemoteError, SseDecoder } from "@convoke/protocol";
import { type Egress, createEgress } from "@convoke/egress";
import { type HttpAnswer, readText, unreachable } from "@convoke/egress/http";
import { type PageRequest, readPages } from "@convoke/protocol/internal";
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

interface ListQuestion extends ServerQuestion {
  /** The field of the entries. */
  readonly name: "tasks" | "pushes" | "approvals";
  /** A page of a filtered list may have fewer entries than asked for, or none. */
  readonly limit?: number;
}

/** One request to the admin API of a Convoke server. */
export async function askServer(
  context: CommandContext,
  question: ServerQuestion,
): Promise<Readonly<Record<string, unknown>>> {
  const server = await openServer(context);
  try {
    return await server.ask(question);
  } finally {
    server.close();
  }
}

/** The entries of a list of a Convoke server, from as many pages as it needs for so many, not validated. */
export async function readReports(
  context: CommandContext,
  { name, limit = Infinity, ...question }: ListQuestion,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const reports: Readonly<Record<string, unknown>>[] = [];
  const read = (page: PageRequest) =>
    askServer(context, { ...question, query: { ...question.query, ...page } });
  const tooMany = (pages: number) => unreadable(`is a list of more than ${pages} pages`);
  for await (const page of readPages(read, { tooMany })) {
    const entries = page[name];
    if (!Array.isArray(entries)) throw unreadable(`has no list of ${name}`);
    reports.push(...(entries as typeof reports));
    if (reports.length >= limit) break;
  }
  return reports;
}

/** The admin API of the server at the given address. May prompt for a password. */
export async function openServer(context: CommandContext): Promise<ServerApi> {
  const given = readUrl(context);
  const { headers, query } = await toRequestParts(await readAuth(context), given);
  return new ServerApi({ base: baseOf(given), headers, query, signal: context.io.signal });
}

interface ServerApiOptions {
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The part of the query that identifies the caller. */
  readonly query: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/**
 * The admin API of a Convoke server, which is not part of A2A. Redirects to other origins are not
 * followed, so credentials are sent only to the given address.
 */
export class ServerApi {
  readonly #options: ServerApiOptions;
  readonly #egress: Egress;

  constructor(options: ServerApiOptions) {
    this.#options = options;
    this.#egress = createEgress({ trusted: [options.base] });
  }

  async ask(question: ServerQuestion): Promise<Readonly<Record<string, unknown>>> {
    const answer = await this.#request(question, { Accept: "application/json" });
    const text = await readText(answer, this.#options.signal);
    if (answer.status !== 200) throw refusal(answer, text, question.about);
    return objectField({ answer: parsed(text) }, "answer");
  }

  /** Server-sent events, each parsed as JSON. Returns "over" if there are no more to come. */
  async *events(
    question: ServerQuestion,
    lastEventId: string | undefined,
  ): AsyncGenerator<unknown, "over" | "cut"> {
    const { signal } = this.#options;
    const answer = await this.#request(question, {
      Accept: "text/event-stream",
      ...(lastEventId !== undefined && { "Last-Event-ID": lastEventId }),
    });
    if (answer.status === 204) return "over";
    if (answer.status !== 200) {
      throw refusal(answer, await readText(answer, signal), question.about);
    }
    const decoder = new SseDecoder();
    const bytes = new TextDecoder();
    try {
      for await (const piece of answer.body) {
        for (const { event, data } of decoder.push(bytes.decode(piece, { stream: true }))) {
          if (event === "error") throw refusal(answer, data, question.about);
          yield parsed(data);
        }
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RemoteError || error instanceof ClientError) throw error;
      throw unreachable(`the connection to ${answer.url} was lost`, error);
    }
    return "cut";
  }

  close(): void {
    this.#egress.close();
  }

  #request(question: ServerQuestion, accept: Record<string, string>): Promise<HttpAnswer> {
    const { base, headers, query, signal } = this.#options;
    const { path, query: asked, body, method } = question;
    const url = new URL(`${base}${path}`);
    for (const [name, values] of Object.entries({ ...asked, ...query })) {
      for (const value of [values].flat()) url.searchParams.append(name, value);
    }
    return this.#egress.request({
      url: url.href,
      headers: {
        ...accept,
        ...(body !== undefined && { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(method && { method }),
      signal,
    });
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
