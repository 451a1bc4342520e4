import { listFiles } from "../search/search-files.ts";
import {
  type Entry,
  entryAt,
  makeFolder,
  readContent,
  removeFile,
  removeFolder,
  removeTree,
  writeContent,
  writeLink,
} from "../workspace/files.ts";
import type { ContentChange } from "../workspace/content-change.ts";
import { decodeText } from "../workspace/text-file.ts";
import type { Place, Workspace } from "../workspace/workspace.ts";
import { WorkspaceError } from "../workspace/workspace-error.ts";
import { type Blobs, sha256 } from "../storage/blobs.ts";
import type { Checkpoint, CheckpointList, EntryState } from "./checkpoint.ts";

/** What a restore has done, as paths that people know. */
export interface RestoreReport {
  readonly written: readonly string[];
  readonly deleted: readonly string[];
  /** Left as they are: they could not be recorded first, or something is in the way. */
  readonly left: readonly string[];
}

/** A checkpoint with its paths. */
export type LoadedCheckpoint = Checkpoint & CheckpointList;

/** Records paths that are about to change; returns those that could not be recorded. */
type RecordPaths = (paths: readonly string[]) => Promise<readonly string[]>;

/** Larger files are not compared as text. */
const MAX_SHOWN = 10 * 1024 * 1024;

type States = ReadonlyMap<string, EntryState>;

/**
 * Returns a workspace to an earlier state. All steps follow from the stored lists and the files as
 * they are now, so a restore that was interrupted can be repeated.
 */
export class Restorer {
  readonly #workspace: Workspace;
  readonly #blobs: Blobs;

  constructor(workspace: Workspace, blobs: Blobs) {
    this.#workspace = workspace;
    this.#blobs = blobs;
  }

  async restore(
    since: AsyncIterable<LoadedCheckpoint>,
    record: RecordPaths,
  ): Promise<RestoreReport> {
    const earlier = await earlierState(since);
    const done = new Map<string, keyof RestoreReport>();
    await this.#apply(earlier.states, record, done);
    // The ignore files of that time are back in place, so what is ignored now was ignored then.
    if (earlier.isComplete) await this.#apply(await this.#createdSince(earlier), record, done);
    const pathsOf = (outcome: keyof RestoreReport): string[] =>
      [...done.keys()].filter((path) => done.get(path) === outcome);
    return { written: pathsOf("written"), deleted: pathsOf("deleted"), left: pathsOf("left") };
  }

  /** The contents that differ from an earlier state. Binary and large files are left out. */
  async changesSince(since: AsyncIterable<LoadedCheckpoint>): Promise<readonly ContentChange[]> {
    const { states, ...rest } = await earlierState(since);
    const created = rest.isComplete ? await this.#createdSince({ states, ...rest }) : new Map();
    const changes: ContentChange[] = [];
    for (const [path, state] of [...states, ...created] as readonly [string, EntryState][]) {
      const place = this.#workspace.placeAt(path);
      if (await this.#isAt(place, state)) continue;
      const stored = state.type === "file" ? await this.#blobs.get(state.hash) : undefined;
      const { type } = await entryAt(place);
      const now = type === "file" ? (await readContent(place, MAX_SHOWN)).bytes : undefined;
      const [before, after] = [stored, now].map((bytes) => bytes && decodeText(bytes)?.text);
      if (before !== after) changes.push({ path: place.shown, before, after });
    }
    return changes;
  }

  async #apply(
    states: States,
    record: RecordPaths,
    done: Map<string, keyof RestoreReport>,
  ): Promise<void> {
    const changes: { readonly place: Place; readonly state: EntryState }[] = [];
    for (const [path, state] of states) {
      const place = this.#workspace.placeAt(path);
      if (!(await this.#isAt(place, state))) changes.push({ place, state });
    }
    if (changes.length === 0) return;
    const skipped = await record(changes.map(({ place }) => place.path));
    for (const { place, state } of inOrder(changes)) {
      const { shown } = place;
      const isSafe = !skipped.some((path) => path === shown || path.startsWith(`${shown}/`));
      const isDone = isSafe && (await this.#put(place, state));
      const outcome = state.type === "missing" ? "deleted" : "written";
      done.set(shown, isDone ? outcome : "left");
    }
  }

  async #isAt(place: Place, state: EntryState): Promise<boolean> {
    const entry = await entryAt(place);
    if (entry.type !== state.type) return false;
    if (entry.type === "link" && state.type === "link") return entry.target === state.target;
    if (entry.type !== "file" || state.type !== "file") return true;
    if (entry.mode !== state.mode) return false;
    const { bytes } = await readContent(place, Number.MAX_SAFE_INTEGER);
    return sha256(bytes) === state.hash;
  }

  /** Returns false if the path cannot be changed, such as a folder that is not empty. */
  async #put(place: Place, state: EntryState): Promise<boolean> {
    try {
      const { type } = await entryAt(place);
      if (state.type === "missing") await remove(place, type);
      else await this.#write(place, type, state);
      return true;
    } catch (error) {
      if (error instanceof WorkspaceError) return false;
      throw error;
    }
  }

  async #write(
    place: Place,
    type: Entry["type"],
    state: Exclude<EntryState, { readonly type: "missing" }>,
  ): Promise<void> {
    if (state.type === "folder") {
      if (type !== "missing") await removeFile(place);
      return makeFolder(place);
    }
    if (type === "folder") await removeTree(place);
    if (state.type === "link") return writeLink(place, state.target);
    return writeContent(place, await this.#blobs.get(state.hash), state.mode);
  }

  /** What is there now and was not there at the time of the snapshot. */
  async #createdSince({ states, skipped }: EarlierState): Promise<States> {
    const created = new Map<string, EntryState>();
    for (const root of this.#workspace.roots) {
      const all = { leaveOut: "ignored", folders: true } as const;
      for await (const batch of listFiles(this.#workspace, this.#workspace.placeAt(root), all)) {
        for (const { path } of batch) {
          const shown = this.#workspace.show(path);
          const { type } = states.get(shown) ?? { type: "missing" };
          if (type === "missing" && !skipped.has(shown)) created.set(shown, { type });
        }
      }
    }
    return created;
  }
}

interface EarlierState {
  readonly states: States;
  /** Paths whose state is not known. */
  readonly skipped: ReadonlySet<string>;
  /** Whether what is not in `states` and not ignored did not exist. */
  readonly isComplete: boolean;
}

/**
 * The state at the first of these checkpoints. Of all records of a path, the first one says what was
 * there. After a snapshot only records of ignored paths count: it has all the others.
 */
async function earlierState(since: AsyncIterable<LoadedCheckpoint>): Promise<EarlierState> {
  const states = new Map<string, EntryState>();
  const skipped = new Set<string>();
  let isComplete = false;
  for await (const checkpoint of since) {
    for (const { path, isIgnored = false, ...state } of checkpoint.entries) {
      const isNews = !states.has(path) && !skipped.has(path);
      if (isNews && (!isComplete || isIgnored)) states.set(path, state);
    }
    for (const path of checkpoint.skipped) if (!states.has(path)) skipped.add(path);
    isComplete ||= checkpoint.kind === "snapshot" && checkpoint.isPartial !== true;
  }
  return { states, skipped, isComplete };
}

/**
 * Deletions come first and from the inside out, then the rest from the outside in: a file may take
 * the place of a folder, or the other way round.
 */
function inOrder<T extends { readonly place: Place; readonly state: EntryState }>(
  changes: readonly T[],
): readonly T[] {
  const depth = ({ place }: T): number => place.path.length;
  const deletions = changes.filter(({ state }) => state.type === "missing");
  const others = changes.filter(({ state }) => state.type !== "missing");
  return [
    ...deletions.toSorted((a, b) => depth(b) - depth(a)),
    ...others.toSorted((a, b) => depth(a) - depth(b)),
  ];
}

async function remove(place: Place, type: Entry["type"]): Promise<void> {
  if (type === "folder") await removeFolder(place);
  else if (type !== "missing") await removeFile(place);
}
