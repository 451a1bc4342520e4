import type { FaultReply } from "../fault-scenario.ts";
import { CLOSE, type Move, bytes } from "../wire/move.ts";

/** Where something is cut: after so many bytes, or so many bytes behind a text in it. */
export type CutPlace = number | { readonly after: string; readonly by?: number };

/** The beginning of a reply, and then the end of the connection. */
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
  if (start < 0) throw new RangeError(`"${place.after}" is not in the reply, so it is not cut`);
  return start + Buffer.byteLength(place.after) + (place.by ?? 0);
}
