import type { SessionKey } from "../storage/session-key.ts";

/** A stored state of some or all files of a workspace. */
export interface Checkpoint {
  /** Sorts by time. */
  readonly id: string;
  readonly createdAt: string;
  /** What was about to happen, for people: `edit_file src/a.ts`. */
  readonly label: string;
  /** The context of the conversation that was about to change something. */
  readonly contextId?: string;
  readonly taskId?: string;
  /**
   * `change`: only the paths that were about to change. `snapshot`: everything that is not ignored.
   */
  readonly kind: "change" | "snapshot";
  /** How many paths it has. */
  readonly paths: number;
  /** A snapshot reached a limit and does not list all paths; a restore of it deletes nothing. */
  readonly isPartial?: boolean;
}

/** The paths of a checkpoint. It is stored by its hash, because snapshots are often the same. */
export interface CheckpointList {
  readonly entries: readonly CheckpointEntry[];
  /** Paths that could not be stored, because of a limit or their permissions. */
  readonly skipped: readonly string[];
}

export type CheckpointEntry = EntryState & {
  /** Relative to the first root of the workspace, or absolute. */
  readonly path: string;
  /** Snapshots do not have this path. */
  readonly isIgnored?: boolean;
};

/** What was at a path. */
export type EntryState =
  | { readonly type: "file"; readonly mode: number; readonly hash: string }
  | { readonly type: "link"; readonly target: string }
  | { readonly type: "folder" }
  | { readonly type: "missing" };

/** Which change a checkpoint is made for. */
export interface ChangeFacts {
  readonly label: string;
  /** The conversation that makes it. */
  readonly session?: SessionKey;
  readonly taskId?: string;
}

/** Bounds of what is stored. */
export interface CheckpointLimits {
  /** Larger files are not stored. Default 10 MiB: larger ones are rarely sources. */
  readonly maxFileBytes?: number;
  /** The most paths of one checkpoint. Default 50 000. */
  readonly maxPaths?: number;
  /** The most bytes that are read for one checkpoint. Default 1 GiB. */
  readonly maxBytes?: number;
  /** How many checkpoints are kept; the oldest are deleted. Default 200. */
  readonly keep?: number;
}

export const DEFAULT_LIMITS = {
  maxFileBytes: 10 * 1024 * 1024,
  maxPaths: 50_000,
  maxBytes: 1024 * 1024 * 1024,
  keep: 200,
} as const satisfies CheckpointLimits;
