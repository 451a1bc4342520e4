import { chmodSync, existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { FileRow, TableRow } from "./store.ts";

/**
 * Small files that belong to the data: who the agent is, the catalogue, the hashes of API keys, the
 * key of links to files, and cancels that sub-agents have not confirmed. Records of processes belong to one machine.
 */
const DATA_FILE =
  /^(?:agent\.json|agent-id|agents\.json|api-keys\.json|files\.key|sub-agent-cancel-[\w-]+\.json)$/;

/** Files whose text is a value in a database, where servers read and change it. */
export const FILE_VALUES = [
  { file: "agents.json", collection: "agents", key: "changes" },
  { file: "api-keys.json", collection: "api-keys", key: "keys" },
] as const;

export function isDataFile(name: string): boolean {
  return DATA_FILE.test(name);
}

export function* dataFiles(folder: string): Generator<FileRow> {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder).filter(isDataFile).toSorted()) {
    yield { kind: "file", name, text: readFileSync(join(folder, name), "utf8") };
  }
}

const REGISTRY_SCHEMA = `
  CREATE TABLE entries (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    url TEXT NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (owner, url)
  ) WITHOUT ROWID;
  PRAGMA user_version = 1;
`;

/** What is left of a registry in a folder, which is a database of its own. */
export const registryFile = {
  table: "registry",

  *read(folder: string): Generator<TableRow> {
    const file = join(folder, "registry.db");
    if (!existsSync(file)) return;
    const db = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
    try {
      for (const row of db.prepare("SELECT id, owner, url, json FROM entries ORDER BY id").all()) {
        yield { kind: "row", table: registryFile.table, json: JSON.stringify(row) };
      }
    } finally {
      db.close();
    }
  },

  /** Can be repeated. */
  write(folder: string, rows: Iterable<TableRow>): void {
    const entries = Array.from(rows, ({ json }) => JSON.parse(json) as Record<string, string>);
    if (entries.length === 0) return;
    const file = join(folder, "registry.db");
    const isNew = !existsSync(file);
    const db = new DatabaseSync(file);
    try {
      chmodSync(file, 0o600);
      if (isNew) db.exec(REGISTRY_SCHEMA);
      const put = db.prepare(
        "INSERT OR REPLACE INTO entries (id, owner, url, json) VALUES (:id, :owner, :url, :json)",
      );
      db.exec("BEGIN");
      for (const { id, owner, url, json } of entries) {
        put.run({ id: id!, owner: owner!, url: url!, json: json! });
      }
      db.exec("COMMIT");
    } finally {
      db.close();
    }
  },
};
