import fc from "fast-check";
import { expect, test } from "vitest";
import { GrpcFrameReader, frameGrpcMessage } from "./grpc-frame.ts";

const fail = (problem: string): Error => new Error(problem);

test("messages are complete and in order, wherever the bytes are split", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 }),
      fc.array(fc.nat(300), { maxLength: 12 }),
      (messages, cuts) => {
        const bytes = Buffer.concat(messages.map((message) => frameGrpcMessage(message)));
        const ends = [
          ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b),
          bytes.length,
        ];
        const reader = new GrpcFrameReader({ maxBytes: 100, fail });

        let start = 0;
        const read = ends.flatMap((end) => {
          const piece = bytes.subarray(start, end);
          start = end;
          return piece.length === 0 ? [] : reader.push(piece);
        });

        expect(read.map((one) => [...one])).toEqual(messages.map((one) => [...one]));
        expect(reader.isInside).toBe(false);
      },
    ),
  );
});

test("a compressed message, and one that is too large, are rejected by their prefix", () => {
  const reader = (): GrpcFrameReader => new GrpcFrameReader({ maxBytes: 10, fail });

  expect(() => reader().push(Uint8Array.of(1, 0, 0, 0, 1))).toThrow("compressed");
  expect(() => reader().push(Uint8Array.of(0, 0, 0, 0, 11))).toThrow("too-large");
});
