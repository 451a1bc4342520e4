import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryBackend } from "@convoke/engine/memory";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import type { Backend } from "@convoke/engine";

/** What outlives a process. */
export interface Disk {
  readonly backend: Backend;
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
      await rm(folder, { recursive: true, force: true });
    },
  };
}
