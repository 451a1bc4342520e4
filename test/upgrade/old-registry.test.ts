import { type LogFields, createJsonLogger } from "@convoke/engine";
import { type AgentServer, type ServeAgentOptions, bearer, defineAgent, serve } from "convoke";
import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { execFileSync } from "node:child_process";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { filesWith } from "../retention/erasing-store.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";

// The registry of agents that a server of commit 61b3c322 had: an agent of ann and one of bob, and
// what each has reported about the other.

const FIXTURE = fileURLToPath(new URL("./registry-61b3c322.db", import.meta.url));

const agent = defineAgent({ id: "dir", name: "Dir", description: "Is called.", run: () => "hi" });

/** A server on the storage, and the warnings of its start. */
async function started(storage: Pick<ServeAgentOptions, "data" | "database">) {
  const warnings: LogFields[] = [];
  const server = await serve(agent, {
    port: 0,
    ...storage,
    auth: [bearer("ops", { owner: "ops", scopes: ["convoke:operate"] })],
    logger: createJsonLogger("warn", (line) => warnings.push(JSON.parse(line) as LogFields)),
  });
  onTestFinished(() => server.close());
  return { server, warnings };
}

const erase = ({ url }: AgentServer, owner: string) =>
  runCli(["erase", url, "--owner", owner, "--yes", "--token", "ops"]);

interface Entry {
  readonly id: string;
  readonly owner: string;
  readonly url: string;
  readonly json: string;
}

/** A copy of the fixture, because SQLite writes files beside a database that it only reads. */
function copyOfFixture(folder: string): string {
  const file = join(folder, "registry.db");
  cpSync(FIXTURE, file);
  return file;
}

function entriesIn(file: string): readonly Entry[] {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return db.prepare("SELECT * FROM entries").all() as unknown as readonly Entry[];
  } finally {
    db.close();
  }
}

const WARNING = "the registry of agents was removed, and nothing reads its entries any more";

describe("registry.db in a data folder", () => {
  test("stays, is named at the start with the line that deletes it, and owners are erased from it", async () => {
    const data = join(temporaryFolder(), "it's data");
    const file = copyOfFixture(data);
    const before = entriesIn(file);

    const { server, warnings } = await started({ data });

    expect(warnings).toMatchObject([{ message: WARNING, place: file }]);
    expect(entriesIn(file)).toEqual(before);
    expect(await erase(server, "bob")).toMatchObject({ code: 0 });
    expect(entriesIn(file)).toMatchObject([{ owner: "ann" }]);
    expect(filesWith(data, "bob")).toEqual([]);

    execFileSync("sh", ["-c", String(warnings[0]!["deletedBy"])]);
    expect(existsSync(file)).toBe(false);
    expect(await erase(server, "ann")).toMatchObject({ code: 0 });
    await server.close();
    expect((await started({ data })).warnings).toEqual([]);
    expect(existsSync(file)).toBe(false);
  });
});

describe("the table in a database", () => {
  const address = needsPostgres();

  test("stays, is named at the start with the line that deletes it, and owners are erased from it", async () => {
    const database = await address();
    const schema = new URL(database).searchParams.get("schema")!;
    const empty = await started({ database });
    const client = new pg.Client({ connectionString: database });
    await client.connect();
    onTestFinished(() => client.end());
    for (const { id, owner, url, json } of entriesIn(copyOfFixture(temporaryFolder()))) {
      const insert = `INSERT INTO ${schema}.registry (id, owner, url, json) VALUES ($1, $2, $3, $4)`;
      await client.query(insert, [id, owner, url, json]);
    }

    const { server, warnings } = await started({ database });

    expect(empty.warnings).toEqual([]);
    expect(warnings).toMatchObject([{ message: WARNING, place: `table ${schema}.registry` }]);
    expect(await erase(server, "bob")).toMatchObject({ code: 0 });
    const { rows } = await client.query<Entry>(`SELECT owner, json FROM ${schema}.registry`);
    expect(rows).toMatchObject([{ owner: "ann" }]);
    expect(rows[0]!.json).not.toContain("bob");

    await client.query(String(warnings[0]!["deletedBy"]));
    expect((await started({ database })).warnings).toEqual([]);
    await client.query(`DROP TABLE ${schema}.registry`);
    expect(await erase(server, "ann")).toMatchObject({ code: 0 });
    expect((await started({ database })).warnings).toEqual([]);
  });
});
