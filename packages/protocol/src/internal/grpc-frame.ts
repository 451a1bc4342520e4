/** Each message is preceded by a flag and its length (gRPC over HTTP/2, "Length-Prefixed-Message"). */
const PREFIX = 5;

/**
 * Adds the prefix to a message, without compression.
 *
 * @param allocate on Node, `Buffer.allocUnsafe`: much faster for the small messages of a stream
 */
export function frameGrpcMessage(
  message: Uint8Array,
  allocate: (size: number) => Uint8Array = (size) => new Uint8Array(size),
): Uint8Array {
  const { length } = message;
  const frame = allocate(PREFIX + length);
  frame[0] = 0;
  frame[1] = length >>> 24;
  frame[2] = length >>> 16;
  frame[3] = length >>> 8;
  frame[4] = length;
  frame.set(message, PREFIX);
  return frame;
}

/** Why a frame cannot be read; the caller turns it into an error of its own. */
export type GrpcFrameProblem = "compressed" | "too-large";

/** Extracts messages from bytes that arrive in pieces. */
export class GrpcFrameReader {
  readonly #maxBytes: number;
  readonly #fail: (problem: GrpcFrameProblem) => Error;
  #pieces: Uint8Array[] = [];
  #size = 0;
  /** How many bytes to read next: the prefix, or the prefix and its message. */
  #needed = PREFIX;
  #isPrefix = true;

  constructor(options: {
    /** Maximum size of a message. */
    readonly maxBytes: number;
    /** Creates the error to throw for a frame that cannot be read. */
    readonly fail: (problem: GrpcFrameProblem) => Error;
  }) {
    this.#maxBytes = options.maxBytes;
    this.#fail = options.fail;
  }

  /** Returns the messages that this piece completes. */
  push(piece: Uint8Array): readonly Uint8Array[] {
    this.#pieces.push(piece);
    this.#size += piece.length;
    const messages: Uint8Array[] = [];
    while (this.#size >= this.#needed) {
      if (this.#isPrefix) this.#readPrefix();
      else messages.push(this.#take());
    }
    return messages;
  }

  /** Whether the bytes so far end within a message. */
  get isInside(): boolean {
    return this.#size > 0;
  }

  #readPrefix(): void {
    const bytes = this.#joined();
    if (bytes[0] !== 0) throw this.#fail("compressed");
    const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(1);
    if (length > this.#maxBytes) throw this.#fail("too-large");
    this.#needed = PREFIX + length;
    this.#isPrefix = false;
  }

  #take(): Uint8Array {
    const bytes = this.#joined();
    const message = bytes.subarray(PREFIX, this.#needed);
    const rest = bytes.subarray(this.#needed);
    this.#pieces = rest.length === 0 ? [] : [rest];
    this.#size = rest.length;
    this.#needed = PREFIX;
    this.#isPrefix = true;
    return message;
  }

  #joined(): Uint8Array {
    const [only] = this.#pieces;
    if (only !== undefined && this.#pieces.length === 1) return only;
    const bytes = new Uint8Array(this.#size);
    let place = 0;
    for (const piece of this.#pieces) {
      bytes.set(piece, place);
      place += piece.length;
    }
    this.#pieces = [bytes];
    return bytes;
  }
}
