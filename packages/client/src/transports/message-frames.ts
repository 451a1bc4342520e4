import { ClientError } from "@convoke/protocol";

/** A flag and a length stand before each message (gRPC over HTTP/2, "Length-Prefixed-Message"). */
const PREFIX = 5;

/** More than any event of a sane agent. */
const MAX_BYTES = 64 * 1024 * 1024;

export function frameMessage(message: Uint8Array): Uint8Array {
  const frame = new Uint8Array(PREFIX + message.length);
  new DataView(frame.buffer).setUint32(1, message.length);
  frame.set(message, PREFIX);
  return frame;
}

/** Finds the messages in bytes that come in pieces. */
export class MessageReader {
  #pieces: Uint8Array[] = [];
  #size = 0;
  /** How many bytes the next message needs with its prefix, once that is known. */
  #needed = PREFIX;
  #isPrefix = true;

  /** The messages that the piece completes. */
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

  /** Whether a message was cut. */
  get isInside(): boolean {
    return this.#size > 0;
  }

  #readPrefix(): void {
    const bytes = this.#joined();
    if (bytes[0] !== 0) throw unreadable("is compressed, which was not asked for");
    const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(1);
    if (length > MAX_BYTES) throw unreadable(`is larger than ${MAX_BYTES} bytes`);
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

function unreadable(problem: string): ClientError {
  return new ClientError("unreadable", `a gRPC message of the agent ${problem}`);
}
