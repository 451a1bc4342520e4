import { globFilter } from "../workspace/glob.ts";
import { type LeaveOut, readFileSyncAt, walk, walkToFile } from "../workspace/walk.ts";
import { type FileMatches, type LineQuery, lineSearch } from "./line-search.ts";

/** Work for a scan of a folder. It is plain data, so that it can be given to a worker thread. */
export type ScanJob = ListJob | SearchJob;

interface JobBase {
  /** The path that addresses the opened folder; see `Folder`. */
  readonly base: string;
  /** The folder to scan, or the file to search, relative to it; empty for all of it. */
  readonly start: string;
  /** Only paths that match, relative to `start`. */
  readonly glob?: string;
}

/** Lists files and links; with `folders` the folders too. */
interface ListJob extends JobBase {
  readonly kind: "list";
  readonly leaveOut: LeaveOut;
  readonly folders?: boolean;
}

/** Searches the lines of all files that are not ignored, or of one file even if it is. */
export interface SearchJob extends JobBase {
  readonly kind: "search";
  readonly query: LineQuery;
  /** The number of matching lines after which the scan ends. */
  readonly limit: number;
  /** Larger files are left out. */
  readonly maxFileBytes: number;
  /** Whether `start` is a file. */
  readonly isFile: boolean;
}

/** A part of what a scan has found. */
export type ScanBatch =
  | { readonly kind: "listed"; readonly entries: readonly ListedEntry[] }
  | { readonly kind: "matched"; readonly file: FileMatches };

export interface ListedEntry {
  readonly path: string;
  readonly type: "file" | "link" | "folder";
}

const BATCH = 500;

/** Runs a job. It blocks: see `startScan`. */
export function* scan(job: ScanJob): Generator<ScanBatch> {
  yield* job.kind === "list" ? list(job) : search(job);
}

function* list(job: ListJob): Generator<ScanBatch> {
  const { base, start, leaveOut, folders = false } = job;
  const isWanted = pathFilter(job);
  let entries: ListedEntry[] = [];
  for (const { path, type } of walk(base, { leaveOut, start })) {
    if (type === "folder" && !folders) continue;
    if (!isWanted(path)) continue;
    entries.push({ path, type });
    if (entries.length < BATCH) continue;
    yield { kind: "listed", entries };
    entries = [];
  }
  yield { kind: "listed", entries };
}

/** Searches files one by one, until the limit is reached. */
function* search(job: SearchJob): Generator<ScanBatch> {
  const { base, start, isFile, query, limit, maxFileBytes } = job;
  const findLines = lineSearch(query);
  const isWanted = pathFilter(job);
  let left = limit;
  const entries = isFile ? walkToFile(base, start) : walk(base, { leaveOut: "ignored", start });
  for (const { path, type, at } of entries) {
    if (type !== "file" || !isWanted(path)) continue;
    const bytes = readFileSyncAt(at, maxFileBytes);
    const lines = bytes === undefined ? [] : findLines(bytes, left);
    if (lines.length === 0) continue;
    yield { kind: "matched", file: { path, lines } };
    left -= lines.filter(({ isMatch }) => isMatch).length;
    if (left <= 0) return;
  }
}

function pathFilter({ glob, start }: JobBase): (path: string) => boolean {
  if (glob === undefined) return () => true;
  const matches = globFilter(glob);
  const prefix = start === "" ? "" : `${start}/`;
  // A single file is searched whatever its name is.
  return (path) => path === start || matches(path.slice(prefix.length));
}
