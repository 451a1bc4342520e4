import { execFileSync } from "node:child_process";
import { DatabaseTaskStore } from "@a2a-js/sdk/server/database";
import Sqlite from "better-sqlite3";
import { Kysely, SqliteDialect } from "kysely";

/** The SQL store of the SDK, set up by its own command, in a file that is synced for each commit as ours is. */
export function sqliteStore(file) {
  const program = new URL("node_modules/.bin/a2a-db", import.meta.url).pathname;
  execFileSync(program, ["upgrade", "--url", `sqlite:${file}`]);
  const database = new Sqlite(file);
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = FULL");
  return new DatabaseTaskStore(new Kysely({ dialect: new SqliteDialect({ database }) }));
}
