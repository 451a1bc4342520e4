import { isObject } from "@convoke/protocol/internal";

/** What a store says about a move that it takes part in, so that no server uses it meanwhile. */
export interface TransferMark {
  /** The same in both stores. */
  readonly id: string;
  readonly role: "source" | "target";
  /** The other store, for people: a folder, or an address without a password. */
  readonly peer: string;
  /** A target that is complete has no mark any more. */
  readonly isDone: boolean;
}

export function readMark(json: string): TransferMark {
  const mark: unknown = JSON.parse(json);
  if (!isObject(mark) || typeof mark["id"] !== "string" || typeof mark["peer"] !== "string") {
    throw new Error("its mark of a move cannot be read");
  }
  const role = mark["role"] === "target" ? "target" : "source";
  return { id: mark["id"], peer: mark["peer"], role, isDone: mark["isDone"] === true };
}

/**
 * Why a server cannot use a store with this mark, to follow the name of the store, without a full stop.
 *
 * @param how to remove the whole store, and to remove the mark alone
 */
export function whyMarked(
  { role, peer, isDone }: TransferMark,
  how: { readonly remove: string; readonly unmark: string },
): string {
  if (role === "target") {
    return `is not complete: it is being filled from ${peer}. Run that convoke migrate or convoke restore again, or ${how.remove}`;
  }
  return isDone
    ? `was moved to ${peer}. Serve that. To use this one as it was before the move, ${how.unmark}`
    : `is being moved to ${peer}. Run that convoke migrate again. To give the move up, ${how.unmark}`;
}
