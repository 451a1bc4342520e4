import { type ProtocolVersion, type RequestContext, traceHeaders } from "@convoke/protocol";

type Headers = Readonly<Record<string, string>>;

/** Whether a header can carry the token; check first, because errors of Node quote invalid values. */
export function isToken(token: string): boolean {
  return /^[\u0021-\u007E]+$/.test(token);
}

/** Whether the text can be the name of a header, a query parameter or a cookie. */
export function isName(name: string): boolean {
  return /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name);
}

/** Whether the text can be the value of a header. */
export function isHeaderValue(value: string): boolean {
  return /^[\u0020-\u007E\t]*$/.test(value);
}

export interface RequestHeadersOptions {
  readonly version: ProtocolVersion;
  /** Extensions that every request of the connection activates. */
  readonly extensions?: readonly string[] | undefined;
  readonly context?: RequestContext | undefined;
  /** What the binding adds, such as `Accept`. */
  readonly binding?: Headers | undefined;
  readonly credentials: Headers;
}

/**
 * The headers of a request, on gRPC its metadata. Headers of the caller never replace those of the
 * protocol or the credentials, whatever case they are written in.
 */
export function requestHeaders(options: RequestHeadersOptions): Headers {
  const { version, extensions, context, binding, credentials } = options;
  const own = {
    ...versionHeaders(version, activeExtensions(extensions, context)),
    ...(context?.trace && traceHeaders(context.trace)),
    ...binding,
    ...credentials,
  };
  if (context?.headers === undefined) return own;
  const taken = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const custom = Object.entries(checkedHeaders(context.headers));
  return {
    ...Object.fromEntries(custom.filter(([name]) => !taken.has(name.toLowerCase()))),
    ...own,
  };
}

/** Headers that the client, the connection or the credentials set. */
const RESERVED: ReadonlySet<string> = new Set([
  "a2a-extensions",
  "a2a-version",
  "accept",
  "accept-encoding",
  "authorization",
  "connection",
  "content-length",
  "content-type",
  "cookie",
  "expect",
  "host",
  "keep-alive",
  "last-event-id",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "x-a2a-extensions",
]);

/** Rejects headers that cannot be sent on every binding, naming them but never their values. */
function checkedHeaders(headers: Headers): Headers {
  for (const [name, value] of Object.entries(headers)) {
    if (!isName(name)) {
      throw new TypeError(`the header name ${JSON.stringify(name)} cannot be sent`);
    }
    const lower = name.toLowerCase();
    // gRPC keeps `grpc-` for itself, and `-bin` announces base64.
    if (RESERVED.has(lower) || lower.startsWith("grpc-") || lower.endsWith("-bin")) {
      throw new TypeError(`the header "${name}" is reserved; for credentials use auth`);
    }
    if (typeof value !== "string" || !isHeaderValue(value)) {
      throw new TypeError(`the header "${name}" holds characters that no header can have`);
    }
  }
  return headers;
}

/**
 * The version of a request and the extensions that it activates (1.0 §3.6.1, §4.6.3). 0.3 has
 * another name for the latter; its later servers accept both.
 */
function versionHeaders(version: ProtocolVersion, extensions: readonly string[]): Headers {
  const list = extensions.join(", ");
  return {
    "A2A-Version": version,
    ...(list !== "" && { "A2A-Extensions": list }),
    ...(list !== "" && version === "0.3" && { "X-A2A-Extensions": list }),
  };
}

/** The extensions of the connection and of the request, each once. */
function activeExtensions(
  ofConnection: readonly string[] = [],
  { extensions = [] }: RequestContext = {},
): readonly string[] {
  return extensions.length === 0 ? ofConnection : [...new Set([...ofConnection, ...extensions])];
}
