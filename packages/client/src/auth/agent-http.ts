import { ClientError, type ProtocolVersion, type RequestContext } from "@convoke/protocol";
import { orAborted } from "@convoke/protocol/internal";
import { requestHeaders } from "./headers.ts";
import { type HttpAnswer, type HttpCall, type HttpClient, readText } from "@convoke/egress/http";
import { type Credentials, redact } from "./credentials.ts";

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
 * HTTP requests to one agent, with the version and the credentials. After a 401 it tries once more
 * if the credentials can be renewed.
 */
export class AgentHttp {
  readonly #options: AgentHttpOptions;

  constructor(options: AgentHttpOptions) {
    this.#options = options;
  }

  async request(call: AgentCall): Promise<HttpAnswer> {
    const { credentials } = this.#options;
    if (credentials === undefined) return this.#send(call, {});
    const { url, signal } = call;
    // Getting a token may take as long as a person needs to sign in.
    const sent = await orAborted(credentials.headersFor(url), signal);
    const answer = await this.#send(call, sent);
    if (answer.status !== 401 || !credentials.areFor(url)) return answer;
    const asks = answer.headers["www-authenticate"] ?? "";
    if (!(await orAborted(credentials.renew({ asks, sent }), signal))) return answer;
    await discard(answer);
    return this.#send(call, await orAborted(credentials.headersFor(url), signal));
  }

  /** Text of the agent without the credentials that it may quote. */
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
        headers: requestHeaders({
          version,
          extensions,
          context,
          binding: {
            ...(body !== undefined && { "Content-Type": "application/json" }),
            ...headers,
          },
          credentials,
        }),
        ...(body !== undefined && { body }),
      });
      const bare = withoutQuery(answer.url, query);
      return bare === answer.url ? answer : { ...answer, url: bare };
    } catch (error) {
      throw this.#cleaned(error, query);
    }
  }

  /** Errors name the URL; a key in its query must not appear in them. */
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

/** Reads and drops a response, so that its connection can be reused. */
async function discard(answer: HttpAnswer): Promise<void> {
  // A long or broken body costs the connection, which is fine.
  await readText(answer, undefined, 64 * 1024).catch(() => undefined);
}
