import type { PublicEvent } from "@convoke/protocol";
import type { FaultCall, FaultReply } from "../fault-scenario.ts";
import { type Move, bytes } from "../wire/move.ts";
import { wrapped } from "./answers.ts";
import { LAST_CHUNK, STREAM_HEAD, chunk } from "./http.ts";
import { codecOf } from "./words.ts";

/** The data of one frame. */
export function dataOf(call: FaultCall, event: PublicEvent): string {
  return JSON.stringify(wrapped(call, codecOf(call.speaking).encodeEvent(event)));
}

/** One frame, with an id if events are numbered. */
export function frame(call: FaultCall, event: PublicEvent, id?: number): string {
  return `${id === undefined ? "" : `id: ${id}\n`}data: ${dataOf(call, event)}\n\n`;
}

export interface StreamOptions {
  /** The id of the first event; if absent, events have no ids. */
  readonly from?: number;
  /** What is sent after the events instead of the regular end. */
  readonly ending?: readonly Move[];
}

/** The frames of the events. */
export function frames(
  call: FaultCall,
  events: readonly PublicEvent[],
  from?: number,
): readonly string[] {
  return events.map((event, place) =>
    frame(call, event, from === undefined ? undefined : from + place),
  );
}

/** An event stream that ends correctly. */
export function streams(events: readonly PublicEvent[], options: StreamOptions = {}): FaultReply {
  return (call) => texts(frames(call, events, options.from), options.ending);
}

/** A stream of any text, each piece written separately. */
export function texts(
  pieces: readonly (string | Uint8Array)[],
  ending: readonly Move[] = [bytes(LAST_CHUNK)],
): readonly Move[] {
  return [bytes(STREAM_HEAD), ...pieces.map((piece) => bytes(chunk(piece))), ...ending];
}

/** A stream whose text depends on the call. */
export function streamsText(
  write: (call: FaultCall) => readonly (string | Uint8Array)[],
  ending?: readonly Move[],
): FaultReply {
  return (call) => texts(write(call), ending);
}
