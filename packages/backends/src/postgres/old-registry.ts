import { type OldRegistry, withoutReports } from "../storage/old-registry.ts";
import type { Connection, Rows } from "./connection.ts";
import { toFailure } from "./database-error.ts";
import { toText } from "./text.ts";

/** An operator may have dropped the table. */
const EXISTS = "SELECT to_regclass('@.registry') IS NOT NULL";

const HAS_ENTRIES = "SELECT EXISTS (SELECT 1 FROM @.registry)";

const DELETE = "DELETE FROM @.registry WHERE owner = $1";

/** Entries that may have reports of an owner. */
const REPORTED = "SELECT id, version, json FROM @.registry WHERE strpos(json, $1) > 0";

/** Servers of an earlier version may still write during an upgrade; then it is tried again. */
const REPLACE =
  "UPDATE @.registry SET json = $3, version = version + 1 WHERE id = $1 AND version = $2";

/** The old registry in a database: a table that is empty if there was none. */
export function oldRegistryAt(connection: Connection, schema: string): OldRegistry {
  /** A failure is reported like one of the tasks: callers get 503 and return. */
  const rows = (text: string, values: readonly unknown[] = []): Promise<Rows> =>
    connection.rows(text, values).catch((error: unknown) => {
      throw toFailure(error, "the entries of the old registry could not be used");
    });
  const is = async (text: string): Promise<boolean> => (await rows(text))[0]?.[0] === true;
  return {
    find: async () => {
      if (!(await is(EXISTS)) || !(await is(HAS_ENTRIES))) return undefined;
      return { place: `table ${schema}.registry`, deletedBy: `DELETE FROM ${schema}.registry;` };
    },
    erase: async (owner) => {
      if (!(await is(EXISTS))) return;
      await rows(DELETE, [toText(owner)]);
      for (;;) {
        const reported = await rows(REPORTED, [JSON.stringify(owner)]);
        const changes = reported.flatMap(([id, version, json]) => {
          const left = withoutReports(String(json), owner);
          return left === undefined ? [] : [[id, version, left]];
        });
        if (changes.length === 0) return;
        for (const values of changes) await rows(REPLACE, values);
      }
    },
  };
}
