import type { PublicEvent } from "@convoke/protocol";
import type { Frame } from "./transports/jsonrpc.ts";

export interface EventStreamOptions {
  readonly frames: AsyncIterable<Frame>;
  readonly decode: (result: unknown) => PublicEvent;
  /** Whether nothing can follow the event. */
  readonly isLast: (event: PublicEvent) => boolean;
  /** Where the stream resumes, so that it can be resumed again before its first event. */
  readonly lastEventId?: string | undefined;
}

/**
 * The events of a task as they arrive. The request is made when the reading
 * begins, and once: a second loop goes on where the first one stopped. Leaving
 * the loop closes the connection; the task goes on.
 */
export class EventStream implements AsyncIterable<PublicEvent> {
  readonly #events: AsyncGenerator<PublicEvent, void, undefined>;
  #lastEventId: string | undefined;

  constructor(options: EventStreamOptions) {
    this.#lastEventId = options.lastEventId;
    this.#events = this.#read(options);
  }

  /** The id of the event that was read last; `subscribe` goes on after it. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  [Symbol.asyncIterator](): AsyncIterator<PublicEvent, void, undefined> {
    return this.#events;
  }

  async *#read({ frames, decode, isLast }: EventStreamOptions): AsyncGenerator<PublicEvent, void> {
    for await (const { id, result } of frames) {
      const event = decode(result);
      if (id !== "") this.#lastEventId = id;
      yield event;
      if (isLast(event)) return;
    }
  }
}
