import { globFilter } from "../workspace/glob.ts";
import { type LeaveOut, readFileSyncAt, visitFile, walk } from "../workspace/walk.ts";
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

/** Searches the lines of files: of all that are not ignored, or only of those that are sent. */
export interface SearchJob extends JobBase {
  readonly kind: "search";
  readonly query: LineQuery;
  /** The number of matching lines after which the scan ends. */
  readonly limit: number;
  /** Larger files are left out. */
  readonly maxFileBytes: number;
  readonly candidates: "walk" | "sent";
}

/** What the thread that scans is sent: a job, and the files to search if its candidates are sent. */
export type ScanRequest =
  | ScanJob
  | { readonly kind: "candidates"; readonly paths: readonly string[] }
  | { readonly kind: "end" };

/** A part of what a scan has found. */
export type ScanBatch =
  | { readonly kind: "listed"; readonly entries: readonly ListedEntry[] }
  | { readonly kind: "matched"; readonly file: FileMatches };

export interface ListedEntry {
  readonly path: string;
  readonly type: "file" | "link" | "folder";
}

const BATCH = 500;

/** Runs a job that walks. It blocks: see `startScan`. */
export function* scan(job: ScanJob): Generator<ScanBatch> {
  yield* job.kind === "list" ? list(job) : searchTree(job);
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

function* searchTree(job: SearchJob): Generator<ScanBatch> {
  const search = new FileSearch(job);
  for (const { path, type, at } of walk(job.base, { leaveOut: "ignored", start: job.start })) {
    if (type !== "file") continue;
    const batch = search.file(path, at);
    if (batch !== undefined) yield batch;
    if (search.isFull) return;
  }
}

/** Searches files one by one, until the limit is reached. */
export class FileSearch {
  readonly #job: SearchJob;
  readonly #search: ReturnType<typeof lineSearch>;
  readonly #isWanted: (path: string) => boolean;
  #left: number;

  constructor(job: SearchJob) {
    this.#job = job;
    this.#search = lineSearch(job.query);
    this.#isWanted = pathFilter(job);
    this.#left = job.limit;
  }

  get isFull(): boolean {
    return this.#left <= 0;
  }

  /** `at` is the path that addresses it. */
  file(path: string, at: string): ScanBatch | undefined {
    if (this.isFull || !this.#isWanted(path)) return undefined;
    const bytes = readFileSyncAt(at, this.#job.maxFileBytes);
    if (bytes === undefined) return undefined;
    const lines = this.#search(bytes, this.#left);
    if (lines.length === 0) return undefined;
    this.#left -= lines.filter(({ isMatch }) => isMatch).length;
    return { kind: "matched", file: { path, lines } };
  }

  /** A file by its path only, if a walk would find it. */
  fileAt(path: string): ScanBatch | undefined {
    const { base, start } = this.#job;
    if (this.isFull) return undefined;
    return visitFile(base, { path, start }, (at) => this.file(path, at));
  }
}

function pathFilter({ glob, start }: JobBase): (path: string) => boolean {
  if (glob === undefined) return () => true;
  const matches = globFilter(glob);
  const prefix = start === "" ? "" : `${start}/`;
  // A single file is searched whatever its name is.
  return (path) => path === start || matches(path.slice(prefix.length));
}
