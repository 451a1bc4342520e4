import type {
  CallOptions,
  Calls,
  Connection,
  RawCard,
  RequestContext,
  Speaking,
  StreamItem,
  StreamOptions,
  Streams,
} from "@convoke/protocol";

/** A connection all of whose requests carry the same context. */
export class ContextualConnection implements Connection {
  readonly #connection: Connection;
  readonly #context: RequestContext;

  constructor(connection: Connection, context: RequestContext) {
    this.#connection = connection;
    this.#context = context;
  }

  get card(): RawCard {
    return this.#connection.card;
  }

  get speaking(): Speaking {
    return this.#connection.speaking;
  }

  call<Name extends keyof Calls>(
    operation: Name,
    request: Calls[Name]["request"],
    options?: CallOptions,
  ): Promise<Calls[Name]["result"]> {
    return this.#connection.call(operation, request, { ...options, context: this.#context });
  }

  stream<Name extends keyof Streams>(
    operation: Name,
    request: Streams[Name],
    options?: StreamOptions,
  ): AsyncGenerator<readonly StreamItem[], void, undefined> {
    return this.#connection.stream(operation, request, { ...options, context: this.#context });
  }

  close(): void {
    this.#connection.close();
  }
}
