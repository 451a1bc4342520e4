import { relative, sep } from "node:path";
import { entryAt } from "../workspace/files.ts";
import { Folder } from "../workspace/folder.ts";
import { describeFailure } from "../workspace/workspace-error.ts";
import type { LeaveOut } from "../workspace/walk.ts";
import type { Place, Workspace } from "../workspace/workspace.ts";
import { type FileMatches, type LineQuery, lineExpression } from "./line-search.ts";
import type { ListedEntry, SearchJob } from "./scan.ts";
import { startScan } from "./start-scan.ts";

export interface SearchOptions {
  readonly query: LineQuery;
  /** Only files whose path, relative to the place, matches. */
  readonly glob?: string | undefined;
  /** The number of matching lines after which the search ends. */
  readonly limit: number;
  /** Larger files are left out. */
  readonly maxFileBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Searches the lines of one file, or of all files in a folder that are not ignored. They are read
 * inside the jail. The paths of the result are real paths.
 */
export async function* searchFiles(
  workspace: Workspace,
  place: Place,
  options: SearchOptions,
): AsyncGenerator<FileMatches> {
  const { query, glob, limit, maxFileBytes, signal } = options;
  // An invalid pattern is an error before anything starts.
  lineExpression(query);
  yield* inRoot(workspace, place, async function* ({ base, root, start }) {
    const job: SearchJob = {
      kind: "search",
      base,
      start,
      query,
      ...(glob !== undefined && { glob }),
      limit,
      maxFileBytes,
      isFile: await isFile(workspace, place),
    };
    for await (const batch of startScan(job, signal)) {
      if (batch.kind === "matched") yield { ...batch.file, path: `${root}/${batch.file.path}` };
    }
  });
}

export interface ListOptions {
  readonly leaveOut: LeaveOut;
  /** Only what matches, by its path relative to the place. */
  readonly glob?: string | undefined;
  /** Lists folders in addition to files and links. */
  readonly folders?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Lists all files and links below a folder, in batches, by their real paths. */
export async function* listFiles(
  workspace: Workspace,
  place: Place,
  options: ListOptions,
): AsyncGenerator<readonly ListedEntry[]> {
  const { leaveOut, glob, folders = false, signal } = options;
  yield* inRoot(workspace, place, async function* ({ base, root, start }) {
    const list = { base, start, leaveOut, folders, ...(glob !== undefined && { glob }) };
    for await (const batch of startScan({ kind: "list", ...list }, signal)) {
      if (batch.kind !== "listed") continue;
      yield batch.entries.map((entry) => ({ ...entry, path: `${root}/${entry.path}` }));
    }
  });
}

/** The real paths of everything in a folder. */
export async function pathsIn(workspace: Workspace, folder: Place): Promise<readonly string[]> {
  const paths: string[] = [];
  const all = { leaveOut: "nothing", folders: true } as const;
  for await (const batch of listFiles(workspace, folder, all)) {
    paths.push(...batch.map(({ path }) => path));
  }
  return paths;
}

interface ScanStart {
  /** The path that addresses the root. */
  readonly base: string;
  /** Its real path. */
  readonly root: string;
  /** The place, relative to the root. */
  readonly start: string;
}

/** Opens the root that a place is in for as long as a scan runs. */
async function* inRoot<T>(
  workspace: Workspace,
  place: Place,
  work: (start: ScanStart) => AsyncGenerator<T>,
): AsyncGenerator<T> {
  const root = workspace.rootOf(place);
  const start = relative(root, place.path).split(sep).join("/");
  const folder = await Folder.open(root).catch((error: unknown) => {
    throw describeFailure(error, root);
  });
  try {
    yield* work({ base: folder.base, root, start });
  } finally {
    await folder.close();
  }
}

async function isFile(workspace: Workspace, place: Place): Promise<boolean> {
  return !workspace.isRoot(place) && (await entryAt(place)).type === "file";
}
