import { type Readable, Writable } from "node:stream";

export interface ProtocolStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/**
 * Takes standard output for a protocol alone: whatever else is printed from now
 * on, by an agent or by what it uses, goes to standard error. One stray line
 * would end the conversation with many hosts.
 */
export function takeProtocolStreams(): ProtocolStreams {
  const { stdin, stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  // Elsewhere a reader that is gone ends the process at once; here tasks are canceled first.
  stdout.removeAllListeners("error");
  stdout.on("error", () => undefined);
  const output = new Writable({
    write: (chunk: Uint8Array, _encoding, done) => void write(chunk, done),
  });
  return { input: stdin, output };
}
