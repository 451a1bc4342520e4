/** One call as gRPC has it over HTTP/2. */
export interface GrpcCall {
  /** The origin counts; gRPC has its paths at the root. */
  readonly url: string;
  /** Such as `/a2a.v1.A2AService/SendMessage`. */
  readonly path: string;
  /** Metadata, with names in lower case. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly message: Uint8Array;
  readonly signal?: AbortSignal | undefined;
}

/** How a call ended. */
export interface GrpcEnd {
  /** Other than 200 when something before the agent answered, such as a proxy. */
  readonly httpStatus: number;
  /** gRPC's own number; undefined when the answer has none. */
  readonly status: number | undefined;
  readonly message: string;
  /** The google.rpc.Status that came with it, in bytes. */
  readonly details: Uint8Array | undefined;
  /** Headers and trailers together, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The way out for gRPC. Browsers have none: they cannot read the trailers of HTTP/2. */
export interface GrpcChannel {
  /**
   * Yields the messages of the answer and returns how it ended. Rejects with a
   * `ClientError` when there is no connection or it was lost. Leaving the loop
   * ends the call.
   */
  call(call: GrpcCall): AsyncGenerator<Uint8Array, GrpcEnd, undefined>;
}
