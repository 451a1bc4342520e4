import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryBackend } from "@convoke/engine/memory";
import { openPostgresBackend } from "@convoke/backends/postgres";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import type { Backend } from "@convoke/engine";

/** What outlives a process. */
export interface Disk {
  readonly backend: Backend;
  /** Whether other processes can write to it, so that watchers may be called more often than needed. */
  readonly isShared?: boolean;
  /** The process that used it is gone; another one opens it. */
  reopen(): Promise<void>;
  close(): Promise<void>;
}

/** Memory that outlives its engine: for many runs. */
export async function aMemoryDisk(): Promise<Disk> {
  const backend = createMemoryBackend();
  return { backend, reopen: async () => undefined, close: () => backend.close() };
}

/** A database that is really closed and reopened. */
export async function aSqliteDisk(): Promise<Disk> {
  const folder = await mkdtemp(join(tmpdir(), "convoke-model-"));
  const open = (): Promise<Backend> => openSqliteBackend({ folder, durability: "process" });
  return aDatabase(open, () => rm(folder, { recursive: true, force: true }));
}

/** A schema of a database server, which stays when its backend is closed. */
export async function aPostgresDisk(url: string): Promise<Disk> {
  return Object.assign(await aDatabase(() => openPostgresBackend({ url })), { isShared: true });
}

async function aDatabase(
  open: () => Promise<Backend>,
  remove: () => Promise<void> = async () => undefined,
): Promise<Disk> {
  let backend = await open();
  return {
    get backend() {
      return backend;
    },
    reopen: async () => {
      await backend.close();
      backend = await open();
    },
    close: async () => {
      await backend.close();
      await remove();
    },
  };
}
