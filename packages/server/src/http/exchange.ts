/** A request, independent of its transport. */
export interface HttpRequest {
  readonly method: string;
  /** The path below the base path. */
  readonly path: string;
  /** The path under which an app has mounted the agent; empty for the root. */
  readonly basePath: string;
  readonly query: URLSearchParams;
  /** With names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Whether the connection uses HTTP/2, which gRPC requires. */
  readonly isHttp2: boolean;
  /** Whether this process has terminated TLS. */
  readonly isSecure: boolean;
  /** Reads the body. Rejects if it is too large. */
  body(): Promise<Uint8Array>;
}

export type HttpHeaders = Readonly<Record<string, string>>;

/** A response. Its body is complete, or a stream that the transport opens. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly body: string | Uint8Array | ByteStream;
  /** HTTP/2 trailers. Called at the end of the body. */
  readonly trailers?: () => HttpHeaders;
}

/** A body that is written as its content becomes available. */
export interface ByteStream {
  /** Starts to write. The transport reports the state of the client through the returned object. */
  open(sink: ByteSink): ByteStreamControl;
}

export interface ByteSink {
  /** Returns false if the client is slow: write nothing more until `drained`. */
  write(piece: string | Uint8Array): boolean;
  end(): void;
}

export interface ByteStreamControl {
  /** The client has received what was written. */
  drained(): void;
  /** The client has disconnected. */
  closed(): void;
}

/** The value of a header, or the first of several. */
export function header(request: HttpRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" ? value : value?.[0];
}

/** A response with a JSON text as its body. */
export function jsonResponse(
  status: number,
  text: string,
  headers: HttpHeaders = {},
): HttpResponse {
  return { status, headers: { "content-type": "application/json", ...headers }, body: text };
}

/** What the transports (Node, Fetch) need from the server. */
export interface RequestHandler {
  readonly handle: (request: HttpRequest) => Promise<HttpResponse>;
  /** The path under which the agent is mounted; empty for the root. */
  readonly basePath: string;
  readonly maxBodyBytes: number;
  /** Creates an id for a request, which appears in the response and in the log. */
  readonly newRequestId: () => string;
  readonly onResponse: (facts: ResponseFacts) => void;
}

/** What is logged about a request; nothing of its content. */
interface ResponseFacts {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
}
