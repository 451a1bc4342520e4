import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ContentChange } from "../workspace/content-change.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { WorkspaceError } from "../workspace/workspace-error.ts";
import { InOrder } from "../workspace/in-order.ts";
import { Blobs, replaceFile } from "../storage/blobs.ts";
import { SINGLE_USER, type SessionKey, sessionKey } from "../storage/session-key.ts";
import {
  type ChangeFacts,
  type Checkpoint,
  type CheckpointLimits,
  type CheckpointList,
  DEFAULT_LIMITS,
} from "./checkpoint.ts";
import { Recorder, type Recorded } from "./recorder.ts";
import { type LoadedCheckpoint, type RestoreReport, Restorer } from "./restorer.ts";

export interface CheckpointsOptions {
  readonly workspace: Workspace;
  /** Where the checkpoints are stored; outside the workspace. One process at a time may use it. */
  readonly folder: string;
  readonly limits?: CheckpointLimits;
}

/** An id is a time and a counter; anything else could name a file elsewhere. */
const ID = /^\d{13}-\d{6}$/;

/**
 * The states of a workspace before each change. They are stored outside the workspace, without git:
 * the contents by their hash, and a list of paths for each checkpoint. They survive restarts.
 */
export class Checkpoints {
  readonly #folder: string;
  readonly #limits: Required<CheckpointLimits>;
  readonly #recorder: Recorder;
  readonly #restorer: Restorer;
  readonly #blobs: Blobs;
  readonly #order = new InOrder();
  #lastId = "";

  private constructor(workspace: Workspace, folder: string, limits: Required<CheckpointLimits>) {
    this.#folder = folder;
    this.#limits = limits;
    this.#blobs = new Blobs(join(folder, "blobs"));
    this.#recorder = new Recorder(workspace, this.#blobs, limits);
    this.#restorer = new Restorer(workspace, this.#blobs);
  }

  static async open({ workspace, folder, limits }: CheckpointsOptions): Promise<Checkpoints> {
    const name = createHash("sha256").update(workspace.root).digest("hex").slice(0, 16);
    const own = join(folder, name);
    await mkdir(join(own, "checkpoints"), { recursive: true, mode: 0o700 });
    return new Checkpoints(workspace, own, { ...DEFAULT_LIMITS, ...limits });
  }

  /**
   * Records the paths that are about to change, including all that is in them if they are folders.
   * Throws if a limit does not allow it: then the change could not be undone.
   */
  beforeChange(paths: readonly string[], facts: ChangeFacts): Promise<Checkpoint> {
    return this.#order.run(async () => {
      const recorded = await this.#recorder.recordPaths(paths);
      const [skipped] = recorded.skipped;
      if (skipped !== undefined) {
        throw new WorkspaceError(
          `${skipped} cannot be recorded, so the change could not be undone. It is too large, there are too many files, or it cannot be read.`,
        );
      }
      const checkpoint = await this.#add("change", recorded, facts);
      await this.#prune();
      return checkpoint;
    });
  }

  /** Records all files that are not ignored, before something that may change any of them. */
  snapshot(facts: ChangeFacts, signal?: AbortSignal): Promise<Checkpoint> {
    return this.#order.run(async () => {
      const recorded = await this.#recorder.recordAll(signal);
      const checkpoint = await this.#add("snapshot", recorded, facts);
      await this.#prune();
      return checkpoint;
    });
  }

  /** The checkpoints, the oldest first; of one conversation, if it is given. */
  async list(session?: SessionKey): Promise<readonly Checkpoint[]> {
    const all = await this.#order.run(() => this.#loadAll());
    return all.filter((one) => session === undefined || isOf(session, one)).map(shown);
  }

  /**
   * Returns the files to their state at a checkpoint: undoes the changes that its conversation has
   * recorded since then. What it changes is recorded first, so a restore can be undone too. It can
   * be repeated after a crash.
   */
  restore(id: string): Promise<RestoreReport> {
    return this.#order.run(async () => {
      const all = await this.#loadAll();
      const target = all.find((one) => one.id === id);
      if (target === undefined) throw new WorkspaceError(`There is no checkpoint ${id}`);
      const { createdAt, label } = target;
      const since = all.filter((one) => one.id >= id && isOf(target, one));
      return this.#restorer.restore(this.#withLists(since), async (paths) => {
        const recorded = await this.#recorder.recordPaths(paths);
        await this.#add("change", recorded, {
          label: `restore of ${createdAt} (${label})`,
          ...(target.contextId !== undefined && { session: sessionKey(target, target.contextId) }),
        });
        return recorded.skipped;
      });
    });
  }

  /** What the conversation of a checkpoint has changed since then, as far as it is text. */
  changesSince(id: string): Promise<readonly ContentChange[]> {
    return this.#order.run(async () => {
      const all = await this.#loadAll();
      const target = all.find((one) => one.id === id);
      if (target === undefined) throw new WorkspaceError(`There is no checkpoint ${id}`);
      const since = all.filter((one) => one.id >= id && isOf(target, one));
      return this.#restorer.changesSince(this.#withLists(since));
    });
  }

  /** Deletes checkpoints, and the contents that no other has. */
  erase(
    isMeant: (stored: { readonly owner: string; readonly contextId?: string }) => boolean,
  ): Promise<void> {
    return this.#order.run(async () => {
      const meant = (await this.#loadAll()).filter(isMeant);
      for (const { id } of meant) await rm(this.#fileOf(id), { force: true });
      await this.#sweep();
    });
  }

  async #add(
    kind: Checkpoint["kind"],
    { entries, skipped, isPartial }: Recorded,
    { label, session, taskId }: ChangeFacts,
  ): Promise<Checkpoint> {
    const now = Date.now();
    const list: CheckpointList = { entries, skipped };
    const stored: StoredCheckpoint = {
      id: await this.#nextId(now),
      createdAt: new Date(now).toISOString(),
      label,
      owner: session?.owner ?? SINGLE_USER,
      ...(session && { contextId: session.contextId }),
      ...(taskId !== undefined && { taskId }),
      kind,
      paths: entries.length,
      ...(isPartial && { isPartial }),
      list: await this.#blobs.put(Buffer.from(JSON.stringify(list))),
    };
    await replaceFile(this.#fileOf(stored.id), JSON.stringify(stored));
    return shown(stored);
  }

  /** One at a time, because the lists of snapshots are long. */
  async *#withLists(stored: readonly StoredCheckpoint[]): AsyncGenerator<LoadedCheckpoint> {
    for (const one of stored) yield { ...one, ...(await this.#listOf(one)) };
  }

  async #listOf({ list }: StoredCheckpoint): Promise<CheckpointList> {
    return JSON.parse((await this.#blobs.get(list)).toString()) as CheckpointList;
  }

  /** Greater than all ids before, whatever the clock says. */
  async #nextId(now: number): Promise<string> {
    const last = this.#lastId === "" ? ((await this.#ids()).at(-1) ?? "") : this.#lastId;
    const [time = 0, counter = 0] = last.split("-").map(Number);
    const [newTime, newCounter] = now > time ? [now, 0] : [time, counter + 1];
    this.#lastId = `${String(newTime).padStart(13, "0")}-${String(newCounter).padStart(6, "0")}`;
    return this.#lastId;
  }

  /**
   * Deletes the oldest checkpoints, but rarely: only when there are a tenth too many. A restore does
   * not, because it could delete the checkpoint that it restores.
   */
  async #prune(): Promise<void> {
    const ids = await this.#ids();
    const { keep } = this.#limits;
    if (ids.length <= keep * 1.1) return;
    for (const id of ids.slice(0, ids.length - keep)) await rm(this.#fileOf(id), { force: true });
    await this.#sweep();
  }

  /** Deletes the contents that no checkpoint has. */
  async #sweep(): Promise<void> {
    const used = new Set<string>();
    for (const one of await this.#loadAll()) {
      used.add(one.list);
      for (const entry of (await this.#listOf(one)).entries) {
        if (entry.type === "file") used.add(entry.hash);
      }
    }
    await this.#blobs.sweep(used);
  }

  async #ids(): Promise<readonly string[]> {
    const files = await readdir(join(this.#folder, "checkpoints"));
    return files
      .filter((file) => file.endsWith(".json"))
      .map((file) => file.slice(0, -".json".length))
      .filter((id) => ID.test(id))
      .toSorted();
  }

  /** The oldest first. */
  async #loadAll(): Promise<readonly StoredCheckpoint[]> {
    const texts = (await this.#ids()).map((id) => readFile(this.#fileOf(id), "utf8"));
    return (await Promise.all(texts)).map((text) => {
      const stored = JSON.parse(text) as Omit<StoredCheckpoint, "owner">;
      return { owner: SINGLE_USER, ...stored };
    });
  }

  #fileOf(id: string): string {
    return join(this.#folder, "checkpoints", `${id}.json`);
  }
}

/** A checkpoint as its file has it. */
interface StoredCheckpoint extends Checkpoint {
  readonly owner: string;
  /** The hash of its `CheckpointList`. */
  readonly list: string;
}

/** Whether a checkpoint is of a conversation; without a contextId, of none. */
function isOf(
  { owner, contextId }: Pick<StoredCheckpoint, "owner" | "contextId">,
  stored: StoredCheckpoint,
): boolean {
  return stored.owner === owner && stored.contextId === contextId;
}

function shown(stored: StoredCheckpoint): Checkpoint {
  const { list: _list, owner: _owner, ...checkpoint } = stored;
  return checkpoint;
}
