import type { A2APart, Caller } from "@convoke/protocol";
import type { Confirmation } from "@convoke/runtime";

/** What a call of a file tool is about to do; a policy decides on it. */
export interface FileAction {
  /** The name of the tool. */
  readonly tool: string;
  /** Listing and searching are reading, and creating a file is editing. */
  readonly kind: "read" | "edit" | "move" | "delete";
  /**
   * The absolute paths that it reads or changes, without links. If a folder is moved or deleted,
   * also those of everything in it.
   */
  readonly paths: readonly string[];
  readonly caller: Caller;
  /** The conversation of the call. */
  readonly contextId: string;
  /** What would change: the old and the new content as data, and a unified diff as text. */
  readonly preview?: readonly A2APart[];
}

/**
 * Decides whether a call may run, needs approval, or is denied. It is asked when the model makes the
 * call, and again right before the call runs, because the decision may have changed or the approver
 * may have edited the arguments; then only `deny` counts.
 */
export type FilePolicy = (action: FileAction) => Confirmation | Promise<Confirmation>;
