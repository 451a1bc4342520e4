import { A2AError } from "@convoke/protocol";

/** A flag and a length stand before each message (gRPC over HTTP/2, "Length-Prefixed-Message"). */
const PREFIX = 5;

export function frameMessage(message: Uint8Array): Uint8Array {
  const frame = Buffer.allocUnsafe(PREFIX + message.length);
  frame.writeUInt8(0, 0);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX);
  return frame;
}

/** The one message of a request. None of our methods takes a stream of them. */
export function openMessage(body: Uint8Array): Uint8Array {
  if (body.length < PREFIX) throw invalid("the request has no message");
  const frame = Buffer.from(body.buffer, body.byteOffset, body.length);
  if (frame.readUInt8(0) !== 0) {
    throw new A2AError("UnsupportedOperation", "compressed messages are not taken; send identity");
  }
  const length = frame.readUInt32BE(1);
  if (frame.length !== PREFIX + length) throw invalid("the request must have exactly one message");
  return frame.subarray(PREFIX);
}

function invalid(detail: string): A2AError {
  return new A2AError("InvalidRequest", detail);
}
