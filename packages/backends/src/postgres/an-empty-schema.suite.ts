import type { Backend } from "@convoke/engine";
import pg from "pg";
import { afterAll } from "vitest";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { type PostgresBackendOptions, openPostgresBackend } from "./postgres-backend.ts";

/**
 * Opens backends on one schema, which each of them finds empty: emptying tables is much cheaper than
 * creating them.
 */
export function opensEmptySchemas(
  options: Omit<PostgresBackendOptions, "url"> = {},
): () => Promise<Backend> {
  const address = needsPostgres();
  let url: string | undefined;
  let admin: pg.Client | undefined;
  afterAll(() => admin?.end());
  return async () => {
    url ??= await address();
    if (admin === undefined) {
      admin = new pg.Client({ connectionString: url });
      await admin.connect();
    } else {
      await emptyTables(admin, new URL(url).searchParams.get("schema")!);
    }
    return openPostgresBackend({ url, ...options });
  };
}

async function emptyTables(admin: pg.Client, schema: string): Promise<void> {
  const { rows } = await admin.query<{ readonly tablename: string }>(
    "SELECT tablename FROM pg_tables WHERE schemaname = $1 AND tablename NOT IN ('meta', 'segment')",
    [schema],
  );
  await admin.query(rows.map(({ tablename }) => `DELETE FROM ${schema}.${tablename}`).join("; "));
}
