import type { BigIntStats } from "node:fs";
import { dirname, relative, sep } from "node:path";
import { listFiles, pathsIn } from "../search/search-files.ts";
import { type Entry, entryAt, readContent } from "../workspace/files.ts";
import { isIgnored } from "../workspace/walk.ts";
import type { Place, Workspace } from "../workspace/workspace.ts";
import { WorkspaceError } from "../workspace/workspace-error.ts";
import type { Blobs } from "../storage/blobs.ts";
import type {
  CheckpointEntry,
  CheckpointLimits,
  CheckpointList,
  EntryState,
} from "./checkpoint.ts";

/** What was recorded of a workspace. */
export interface Recorded extends CheckpointList {
  readonly isPartial: boolean;
}

/** The hash of a file, and the metadata that it had then. */
interface KnownFile {
  readonly stamp: string;
  readonly hash: string;
}

/** A file that was changed this recently may change again without a visible change of its times. */
const SETTLED_MS = 1000n;

/** How many files are read at once. */
const AT_ONCE = 16;

/** Records the state of paths, and stores the contents of files. */
export class Recorder {
  readonly #workspace: Workspace;
  readonly #blobs: Blobs;
  readonly #limits: Required<CheckpointLimits>;
  /** The files of the last snapshot by path, so that the next one reads only what has changed. */
  #known: ReadonlyMap<string, KnownFile> = new Map();

  constructor(workspace: Workspace, blobs: Blobs, limits: Required<CheckpointLimits>) {
    this.#workspace = workspace;
    this.#blobs = blobs;
    this.#limits = limits;
  }

  /**
   * Records paths that are about to change: files, links, folders with everything in them, and
   * missing ones with the missing folders above them, which a restore removes again.
   */
  async recordPaths(paths: readonly string[]): Promise<Recorded> {
    const recording = this.#begin();
    for (const path of paths) {
      const place = this.#workspace.placeAt(path);
      const type = await recording.add(place);
      if (type === "missing") await this.#addMissingParents(place, recording);
      const inner = type === "folder" ? await pathsIn(this.#workspace, place) : [];
      await recording.addAll(inner.map((one) => this.#workspace.placeAt(one)));
    }
    return recording.done((path) => this.#isIgnored(path));
  }

  /** Records everything that is not ignored. */
  async recordAll(signal?: AbortSignal): Promise<Recorded> {
    const recording = this.#begin();
    for (const root of this.#workspace.roots) {
      const all = { leaveOut: "ignored", folders: true, signal } as const;
      for await (const batch of listFiles(this.#workspace, this.#workspace.placeAt(root), all)) {
        await recording.addAll(batch.map((entry) => this.#workspace.placeAt(entry.path)));
        if (recording.isPartial) break;
      }
    }
    this.#known = recording.known;
    return recording.done(() => false);
  }

  #begin(): Recording {
    return new Recording({ blobs: this.#blobs, limits: this.#limits, before: this.#known });
  }

  async #addMissingParents(place: Place, recording: Recording): Promise<void> {
    for (
      let path = dirname(place.path);
      !this.#workspace.roots.includes(path);
      path = dirname(path)
    ) {
      const parent = this.#workspace.placeAt(path);
      if ((await entryAt(parent)).type !== "missing") return;
      await recording.add(parent);
    }
  }

  #isIgnored(path: string): boolean {
    const place = this.#workspace.placeAt(path);
    const root = this.#workspace.rootOf(place);
    return isIgnored(root, relative(root, place.path).split(sep).join("/"));
  }
}

interface RecordingOptions {
  readonly blobs: Blobs;
  readonly limits: Required<CheckpointLimits>;
  readonly before: ReadonlyMap<string, KnownFile>;
}

/** One recording: what it has so far, within its limits. */
class Recording {
  readonly #options: RecordingOptions;
  readonly #states = new Map<string, EntryState>();
  readonly #skipped: string[] = [];
  readonly known = new Map<string, KnownFile>();
  #count = 0;
  #bytes = 0n;
  /** There are more paths than the limit allows. */
  isPartial = false;

  constructor(options: RecordingOptions) {
    this.#options = options;
  }

  done(isPathIgnored: (path: string) => boolean): Recorded {
    const entries: CheckpointEntry[] = [...this.#states].map(([path, state]) => ({
      path,
      ...state,
      ...(isPathIgnored(path) && { isIgnored: true }),
    }));
    return { entries, skipped: this.#skipped, isPartial: this.isPartial };
  }

  async addAll(places: readonly Place[]): Promise<void> {
    for (let start = 0; start < places.length; start += AT_ONCE) {
      await Promise.all(places.slice(start, start + AT_ONCE).map((place) => this.add(place)));
    }
  }

  /** Adds a path and returns what is there. */
  async add(place: Place): Promise<Entry["type"]> {
    // Counted before anything is awaited, because several paths are added at once.
    const isOver = this.#count >= this.#options.limits.maxPaths;
    this.#count += 1;
    this.isPartial ||= isOver;
    const entry = await entryAt(place);
    const state = isOver ? undefined : await this.#stateOf(place, entry);
    if (state === undefined) this.#skipped.push(place.shown);
    else this.#states.set(place.shown, state);
    return entry.type;
  }

  async #stateOf(place: Place, entry: Entry): Promise<EntryState | undefined> {
    switch (entry.type) {
      case "file":
        return this.#fileState(place, entry).catch(onlyProblems);
      case "link":
        return entry;
      case "folder":
        return { type: "folder" };
      case "missing":
        return entry;
      case "other":
        return undefined;
    }
  }

  async #fileState(
    place: Place,
    { stats, mode }: Entry & { readonly type: "file" },
  ): Promise<EntryState | undefined> {
    const { blobs, limits, before } = this.#options;
    const stamp = stampOf(stats);
    const known = before.get(place.path);
    if (known !== undefined && known.stamp === stamp && (await blobs.has(known.hash))) {
      this.known.set(place.path, known);
      return { type: "file", mode, hash: known.hash };
    }
    const { maxFileBytes, maxBytes } = limits;
    if (stats.size > maxFileBytes || this.#bytes + stats.size > maxBytes) return undefined;
    this.#bytes += stats.size;
    const read = await readContent(place, maxFileBytes);
    const hash = await blobs.put(read.bytes);
    if (stamp !== undefined) this.known.set(place.path, { stamp, hash });
    return { type: "file", mode: read.mode, hash };
  }
}

/** Identifies the content of a file by its metadata; undefined if it has changed just now. */
function stampOf({ ino, size, mtimeNs, ctimeNs, ctimeMs }: BigIntStats): string | undefined {
  if (BigInt(Date.now()) - ctimeMs < SETTLED_MS) return undefined;
  return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

/** A file that cannot be read, or is gone by now, is left out. */
function onlyProblems(error: unknown): undefined {
  if (error instanceof WorkspaceError) return undefined;
  throw error;
}
