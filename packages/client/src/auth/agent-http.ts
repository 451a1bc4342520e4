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
  /** Receives the headers of every response. */
  readonly onHead?: ((headers: HttpAnswer["headers"]) => void) | undefined;
}

type Headers = Readonly<Record<string, string>>;

const NONE: Headers = Object.freeze({});

interface AgentCall extends HttpCall {
  readonly context?: RequestContext | undefined;
}

/**
 * HTTP requests to one agent, with the version and the credentials. After a 401 it tries once more
 * if the credentials can be renewed.
 */
export class AgentHttp {
  readonly #options: AgentHttpOptions;
  /** The headers of requests without context and credentials, by those of the binding. */
  readonly #known = new WeakMap<Headers, Headers>();

  constructor(options: AgentHttpOptions) {
    this.#options = options;
  }

  async request(call: AgentCall): Promise<HttpAnswer> {
    const { credentials, onHead } = this.#options;
    const answer = await (credentials === undefined
      ? this.#send(call, NONE)
      : this.#requestWith(credentials, call));
    onHead?.(answer.headers);
    return answer;
  }

  async #requestWith(credentials: Credentials, call: AgentCall): Promise<HttpAnswer> {
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

  #send(call: AgentCall, credentials: Headers): Promise<HttpAnswer> {
    const sent: HttpCall = { ...call, headers: this.#headersOf(call, credentials) };
    const query = this.#options.credentials?.queryFor(call.url) ?? NONE;
    return isEmpty(query) ? this.#options.client.request(sent) : this.#sendWithQuery(sent, query);
  }

  async #sendWithQuery(call: HttpCall, query: Headers): Promise<HttpAnswer> {
    try {
      const answer = await this.#options.client.request({
        ...call,
        url: withQuery(call.url, query),
      });
      return { ...answer, url: withoutQuery(answer.url, query) };
    } catch (error) {
      throw this.#cleaned(error);
    }
  }

  /** The headers of a call. If they depend on nothing but the binding, they are made once. */
  #headersOf({ headers = NONE, body, context }: AgentCall, credentials: Headers): Headers {
    const { version, extensions } = this.#options;
    const isPlain = context === undefined && body !== undefined && isEmpty(credentials);
    const known = isPlain ? this.#known.get(headers) : undefined;
    if (known !== undefined) return known;
    const binding =
      body === undefined ? headers : { "Content-Type": "application/json", ...headers };
    const all = requestHeaders({ version, extensions, context, binding, credentials });
    if (isPlain && Object.isFrozen(headers)) this.#known.set(headers, Object.freeze(all));
    return all;
  }

  /** Errors name the URL; a key in its query must not appear in them. */
  #cleaned(error: unknown): unknown {
    if (!(error instanceof ClientError)) return error;
    return new ClientError(error.kind, this.clean(error.message), { sent: error.sent });
  }
}

function isEmpty(fields: Headers): boolean {
  return fields === NONE || Object.keys(fields).length === 0;
}

function withQuery(url: string, query: Headers): string {
  const whole = new URL(url);
  for (const [name, value] of Object.entries(query)) whole.searchParams.set(name, value);
  return whole.href;
}

function withoutQuery(url: string, query: Headers): string {
  const whole = new URL(url);
  for (const name of Object.keys(query)) whole.searchParams.delete(name);
  return whole.href;
}

/** Reads and drops a response, so that its connection can be reused. */
async function discard(answer: HttpAnswer): Promise<void> {
  // A long or broken body costs the connection, which is fine.
  await readText(answer, undefined, 64 * 1024).catch(() => undefined);
}
