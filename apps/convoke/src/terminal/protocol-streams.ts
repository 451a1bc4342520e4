import { type Readable, Writable } from "node:stream";

/** The streams of a command that speaks a protocol over standard input and output. */
export interface ProtocolStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/**
 * Reserves standard output for the protocol. From now on everything else that is printed, by an
 * agent or its libraries, goes to standard error: one stray line would break many clients.
 */
export function takeProtocolStreams(): ProtocolStreams {
  const { stdin, stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  // Other commands exit when the reader closes the pipe; here tasks must be canceled first.
  stdout.removeAllListeners("error");
  stdout.on("error", () => undefined);
  const output = new Writable({
    write: (chunk: Uint8Array, _encoding, done) => void write(chunk, done),
  });
  return { input: stdin, output };
}

/** Resolves when the other program is gone, or the signal aborts. */
export function disconnected(
  { input, output }: ProtocolStreams,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => resolve();
    for (const event of ["end", "close"]) input.once(event, end);
    output.once("error", end);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted || input.readableEnded || input.destroyed) end();
  });
}
