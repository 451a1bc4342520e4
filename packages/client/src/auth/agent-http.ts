import { ClientError, type ProtocolVersion, type RequestContext } from "@convoke/protocol";
import { askedExtensions, traceHeaders } from "../connection/request-context.ts";
import { type HttpAnswer, type HttpCall, type HttpClient, readText } from "@convoke/egress/http";
import type { Credentials } from "./credentials.ts";
import { redact } from "./redact.ts";
import { versionHeaders } from "./version-headers.ts";

export interface AgentHttpOptions {
  readonly client: HttpClient;
  readonly version: ProtocolVersion;
  readonly credentials?: Credentials | undefined;
  readonly extensions?: readonly string[] | undefined;
}

interface AgentCall extends HttpCall {
  readonly context?: RequestContext | undefined;
}

/**
 * Requests to one agent: adds the version and the credentials, and after a 401
 * tries once more with new ones where there are any.
 */
export class AgentHttp {
  readonly #options: AgentHttpOptions;

  constructor(options: AgentHttpOptions) {
    this.#options = options;
  }

  async request(call: AgentCall): Promise<HttpAnswer> {
    const { credentials } = this.#options;
    const sent = (await credentials?.headersFor(call.url)) ?? {};
    const answer = await this.#send(call, sent);
    if (answer.status !== 401 || credentials?.areFor(call.url) !== true) return answer;
    const asks = answer.headers["www-authenticate"] ?? "";
    if (!(await credentials.renew({ asks, sent }))) return answer;
    await discard(answer);
    return this.#send(call, await credentials.headersFor(call.url));
  }

  /** What an agent said, without the credentials that it may have quoted. */
  clean(text: string): string {
    return redact(text, this.#options.credentials?.secrets() ?? []);
  }

  async #send(
    { url, headers, body, context, ...call }: AgentCall,
    credentials: Readonly<Record<string, string>>,
  ): Promise<HttpAnswer> {
    const { client, version, extensions } = this.#options;
    const query = this.#options.credentials?.queryFor(url) ?? {};
    try {
      const answer = await client.request({
        ...call,
        url: withQuery(url, query),
        headers: {
          ...versionHeaders(version, askedExtensions(extensions, context)),
          ...traceHeaders(context),
          ...(body !== undefined && { "Content-Type": "application/json" }),
          ...headers,
          ...credentials,
        },
        ...(body !== undefined && { body }),
      });
      return { ...answer, url: withoutQuery(answer.url, query) };
    } catch (error) {
      throw this.#cleaned(error, query);
    }
  }

  /** Errors name the URL, and a key in its query must not be told with it. */
  #cleaned(error: unknown, query: Readonly<Record<string, string>>): unknown {
    if (!(error instanceof ClientError) || Object.keys(query).length === 0) return error;
    return new ClientError(error.kind, this.clean(error.message), { sent: error.sent });
  }
}

function withQuery(url: string, query: Readonly<Record<string, string>>): string {
  if (Object.keys(query).length === 0) return url;
  const whole = new URL(url);
  for (const [name, value] of Object.entries(query)) whole.searchParams.set(name, value);
  return whole.href;
}

function withoutQuery(url: string, query: Readonly<Record<string, string>>): string {
  if (Object.keys(query).length === 0) return url;
  const whole = new URL(url);
  for (const name of Object.keys(query)) whole.searchParams.delete(name);
  return whole.href;
}

/** Gives the connection of an answer back that nobody wants to read. */
async function discard(answer: HttpAnswer): Promise<void> {
  // What is longer, or broken, loses its connection, and nothing of it was wanted.
  await readText(answer, undefined, 64 * 1024).catch(() => undefined);
}
