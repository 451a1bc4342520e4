const NEWLINE = 10;
const RETURN = 13;

export interface BoundedBodyOptions {
  /** For an event stream the bound is on each event, because the stream may last for ever. */
  readonly isEventStream: boolean;
  readonly maxBytes: number;
  /** The server sends too much. */
  readonly onTooLong: () => Error;
  /** Fires when the request is given up. */
  readonly signal: AbortSignal | undefined;
  /** The connection broke, and the events have no ids to go on by. */
  readonly onBroken: () => void;
}

/** The body of a response, as long as it stays within bounds. */
export function boundedBody(
  body: ReadableStream<Uint8Array>,
  { isEventStream, maxBytes, signal, onTooLong, onBroken }: BoundedBodyOptions,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let size = 0;
  let isLineEmpty = true;
  let hasIds = false;
  const count = (chunk: Uint8Array): void => {
    if (!isEventStream) {
      size += chunk.length;
      return;
    }
    hasIds ||= /(^|\n)id:/.test(
      Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString("latin1"),
    );
    for (const byte of chunk) {
      size += 1;
      if (byte === NEWLINE) {
        // An empty line ends an event.
        if (isLineEmpty) size = 0;
        isLineEmpty = true;
      } else if (byte !== RETURN) isLineEmpty = false;
      if (size > maxBytes) return;
    }
  };
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        count(value);
        if (size <= maxBytes) return controller.enqueue(value);
        void reader.cancel().catch(() => undefined);
        return controller.error(onTooLong());
      } catch (error) {
        if (signal?.aborted !== true && isEventStream && !hasIds) onBroken();
        return controller.error(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
