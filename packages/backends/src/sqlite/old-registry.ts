import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type OldRegistry, withoutReports } from "../storage/old-registry.ts";

/** The old registry in a data folder: `registry.db`, apart from the tasks. */
export function oldRegistryIn(folder: string): OldRegistry {
  const file = join(folder, "registry.db");
  return {
    find: async () =>
      existsSync(file)
        ? { place: file, deletedBy: `rm '${file.replaceAll("'", `'\\''`)}'*` }
        : undefined,
    erase: async (owner) => {
      if (!existsSync(file)) return;
      const db = new DatabaseSync(file);
      try {
        eraseIn(db, owner);
      } finally {
        db.close();
      }
    },
  };
}

function eraseIn(db: DatabaseSync, owner: string): void {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'entries'").get() === undefined) return;
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  db.prepare("DELETE FROM entries WHERE owner = ?").run(owner);
  const update = db.prepare("UPDATE entries SET json = ? WHERE id = ?");
  for (const { id, json } of db.prepare("SELECT id, json FROM entries").all()) {
    const left = withoutReports(String(json), owner);
    if (left !== undefined) update.run(left, id!);
  }
  // Overwrites the bytes of what was deleted.
  db.exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
}
