import type { Seq } from "./backend.ts";

/**
 * How far a client has read a log. As text, which clients send back as they received it:
 *
 * - `42`: up to and including event 42.
 * - `42.7`: the same in a storage that processes share; 7 is the epoch of the event. If the database
 *   loses the end of a log in a failover, another event can come to that position, and has another epoch.
 * - `42+3`: the first three of the events as which a dialect shows event 42.
 */
export interface Cursor {
  readonly seq: Seq;
  readonly epoch?: number | undefined;
  /** How many of the events were read as which a dialect shows the event. Default: all. */
  readonly shown?: number | undefined;
}

export function formatCursor({ seq, epoch, shown }: Cursor): string {
  return `${seq}${epoch === undefined ? "" : `.${epoch}`}${shown === undefined ? "" : `+${shown}`}`;
}

const CURSOR = /^(?<seq>\d{1,15})(?:\.(?<epoch>\d{1,15}))?(?:\+(?<shown>\d{1,4}))?$/;

/** Returns `undefined` if the text is not a cursor. */
export function parseCursor(text: string): Cursor | undefined {
  const { seq, epoch, shown } = CURSOR.exec(text)?.groups ?? {};
  if (seq === undefined) return undefined;
  return {
    seq: Number(seq),
    ...(epoch !== undefined && { epoch: Number(epoch) }),
    ...(shown !== undefined && { shown: Number(shown) }),
  };
}
