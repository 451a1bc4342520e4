import type { ByteStream, ByteStreamControl } from "../http/exchange.ts";

const ENCODER = new TextEncoder();

/**
 * A stream of ours as one of the Fetch standard. Nothing is opened before the
 * first read, and nothing is written that no read waits for: a reader that
 * stops reading costs at most what was written last.
 *
 * @param signal ends the stream, as it would end one that came by a network
 */
export function readableOf(stream: ByteStream, signal: AbortSignal): ReadableStream<Uint8Array> {
  let control: ByteStreamControl | undefined;
  let abort: () => void = () => undefined;
  const leave = (): void => {
    signal.removeEventListener("abort", abort);
    control?.closed();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        abort = () => {
          leave();
          controller.error(signal.reason);
        };
        if (signal.aborted) abort();
        else signal.addEventListener("abort", abort, { once: true });
      },
      pull(controller) {
        if (control !== undefined) return control.drained();
        control = stream.open({
          write(piece) {
            controller.enqueue(typeof piece === "string" ? ENCODER.encode(piece) : piece);
            return false;
          },
          end() {
            signal.removeEventListener("abort", abort);
            controller.close();
          },
        });
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
}
