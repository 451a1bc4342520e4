import { createMemoryBackend } from "@convoke/engine/memory";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { type CountedBackend, countBackend } from "./counted-backend.ts";

/** Both backends, new and empty, and closed when the test ends. */
export const BACKENDS: Readonly<Record<string, () => Promise<CountedBackend>>> = {
  memory: async () => opened(countBackend(createMemoryBackend())),
  // Nothing here depends on the disk, so nothing has to wait for it.
  SQLite: async () =>
    opened(
      countBackend(await openSqliteBackend({ folder: temporaryFolder(), durability: "process" })),
    ),
};

function opened(backend: CountedBackend): CountedBackend {
  onTestFinished(() => backend.close());
  return backend;
}
