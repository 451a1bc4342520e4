import type { FaultReply } from "../fault-scenario.ts";
import { CLOSE, type Move, bytes } from "../wire/move.ts";

/** Where a reply is cut: after a number of bytes, or a number of bytes after a text in it. */
export type CutPlace = number | { readonly after: string; readonly by?: number };

/** The start of a reply, followed by the end of the connection. */
export function cut(reply: FaultReply, place: CutPlace, ending: Move = CLOSE): FaultReply {
  return async (call) => {
    const moves = await reply(call);
    const all = Buffer.concat(moves.flatMap((move) => (move.kind === "bytes" ? [move.bytes] : [])));
    return [bytes(all.subarray(0, offsetOf(all, place))), ending];
  };
}

function offsetOf(all: Buffer, place: CutPlace): number {
  if (typeof place === "number") return place;
  const start = all.indexOf(place.after);
  if (start < 0)
    throw new RangeError(`"${place.after}" does not occur in the reply, so the reply is not cut`);
  return start + Buffer.byteLength(place.after) + (place.by ?? 0);
}
