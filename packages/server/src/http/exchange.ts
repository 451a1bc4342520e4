/** A request as every transport brings it. */
export interface HttpRequest {
  readonly method: string;
  /** From the agent's own root. */
  readonly path: string;
  /** What an app has put before that path; empty at the root. */
  readonly basePath: string;
  readonly query: URLSearchParams;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Whether it came by HTTP/2, which gRPC needs. */
  readonly isHttp2: boolean;
  /** Whether it came by TLS to this process. */
  readonly isSecure: boolean;
  /** Reads the body. Rejects when it is larger than allowed. */
  body(): Promise<Uint8Array>;
}

export type HttpHeaders = Readonly<Record<string, string>>;

/** An answer: either whole, or a stream that the transport opens. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly body: string | Uint8Array | ByteStream;
  /** Headers after the body, of HTTP/2. Asked for when the body is at its end. */
  readonly trailers?: () => HttpHeaders;
}

/** A body that is written while it happens. */
export interface ByteStream {
  /** Begins to write. The transport tells what becomes of the reader. */
  open(sink: ByteSink): ByteStreamControl;
}

export interface ByteSink {
  /** False when the reader is behind: nothing more until `drained`. */
  write(piece: string | Uint8Array): boolean;
  end(): void;
}

export interface ByteStreamControl {
  /** The reader has taken what was written. */
  drained(): void;
  /** The reader is gone. */
  closed(): void;
}

/** The one value of a header, the first of several. */
export function header(request: HttpRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" ? value : value?.[0];
}
