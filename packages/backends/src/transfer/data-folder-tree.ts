import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { COMMIT_LOG } from "../sqlite/commit-log.ts";
import {
  DataFolderBusyError,
  FILES_FOLDER,
  type HeldFolder,
  holdFolder,
} from "../sqlite/data-folder.ts";
import { readFolderMark, writeFolderMark } from "../sqlite/marked-folder.ts";
import { MIGRATIONS, schemaVersion } from "../sqlite/schema.ts";
import { applyCommitLog } from "../sqlite/sqlite-backend.ts";
import { FLUSH_MS } from "../sqlite/write-queue.ts";
import type { TransferMark } from "../storage/transfer-mark.ts";
import { dataFiles, registryFile } from "./folder-files.ts";
import { SqliteSource } from "./sqlite-source.ts";
import { withBlobs } from "./task-blobs.ts";
import { SqliteTarget, removeIncoming } from "./sqlite-target.ts";
import {
  type Store,
  type StoreSource,
  type StoreTarget,
  type StoreTree,
  TransferError,
} from "./store.ts";

/** A data folder, and those of sub-agents below it. */
export class DataFolderTree implements StoreTree {
  readonly label: string;

  constructor(folder: string) {
    this.label = resolve(folder);
  }

  async stores(): Promise<readonly Store[]> {
    const paths = [...pathsBelow(this.label, "")];
    if (!paths.includes("")) {
      throw new TransferError(
        `There are no tasks in ${this.label}: name the folder that has tasks.db.`,
      );
    }
    return this.at(paths);
  }

  at(paths: readonly string[]): readonly Store[] {
    return paths.map((path) => {
      const folder = join(this.label, path);
      return withBlobs(new DataFolderStore(folder, path), join(folder, FILES_FOLDER));
    });
  }
}

/** The folders that have tasks, or are to have them, relative to the first one. */
function* pathsBelow(root: string, path: string): Generator<string> {
  const folder = join(root, path);
  if (existsSync(join(folder, "tasks.db")) || readFolderMark(folder) !== undefined) yield path;
  const agents = join(folder, "agents");
  if (!existsSync(agents)) return;
  for (const entry of readdirSync(agents, { withFileTypes: true })) {
    if (entry.isDirectory()) {
      yield* pathsBelow(
        root,
        path === "" ? `agents/${entry.name}` : `${path}/agents/${entry.name}`,
      );
    }
  }
}

class DataFolderStore implements Store {
  readonly label: string;
  readonly path: string;
  #held: HeldFolder | undefined;

  constructor(folder: string, path: string) {
    this.label = folder;
    this.path = path;
  }

  async mark(): Promise<TransferMark | undefined> {
    return readFolderMark(this.label);
  }

  async setMark(mark: TransferMark | undefined): Promise<void> {
    writeFolderMark(this.label, mark);
  }

  async isEmpty(): Promise<boolean> {
    return !existsSync(this.#file);
  }

  async lock(mark: TransferMark | undefined): Promise<void> {
    this.#held = holdFolder(this.label);
    if (existsSync(this.#file)) applyCommitLog(this.label);
    writeFolderMark(this.label, mark);
  }

  async read(): Promise<StoreSource> {
    if (existsSync(join(this.label, COMMIT_LOG))) await this.#awaitCommits();
    checkVersion(this.#file, this.label);
    return new SqliteSource(this.#file, {
      rows: () => registryFile.read(this.label),
      files: () => dataFiles(this.label),
    });
  }

  async fill(isAtomic: boolean): Promise<StoreTarget> {
    return new SqliteTarget(this.label, { isNew: isAtomic });
  }

  async discard(): Promise<void> {
    removeIncoming(this.label);
  }

  async close(): Promise<void> {
    this.#held?.release();
    this.#held = undefined;
  }

  /** Everything that was committed before is in the database afterwards. */
  async #awaitCommits(): Promise<void> {
    if (this.#held !== undefined) return;
    try {
      const held = holdFolder(this.label);
      applyCommitLog(this.label);
      held.release();
    } catch (error) {
      if (!(error instanceof DataFolderBusyError)) throw error;
      // A server uses the folder, and writes what it has committed to the database after a while.
      await sleep(2 * FLUSH_MS);
    }
  }

  get #file(): string {
    return join(this.label, "tasks.db");
  }
}

function checkVersion(file: string, folder: string): void {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
  const version = schemaVersion(db);
  db.close();
  if (version === MIGRATIONS.length) return;
  throw new TransferError(
    `The tasks in ${folder} were written by another version of Convoke: serve them once with this version first.`,
  );
}
