import { type DatabaseFacts, openPostgresBackend } from "@convoke/backends/postgres";
import pg from "pg";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { type DATABASE_DIAGNOSES, Findings } from "../doctor/diagnoses.ts";
import { judge } from "../doctor/examine-database.ts";
import { placeInDatabase } from "../host/database-lines.ts";
import { type Finished, runCli } from "./testing/run-cli.suite.ts";

const address = needsPostgres();

let url: string;
beforeAll(async () => {
  url = await address();
  expect(await runCli(["database", "migrate", url])).toMatchObject({ code: 0, stderr: "" });
});

describe("convoke database migrate", () => {
  test("creates the tables once, so that servers need not", async () => {
    const fresh = await address();
    await expect(openPostgresBackend({ url: fresh, migrate: false })).rejects.toThrow("no tables");

    const first = await runCli(["database", "migrate", fresh]);
    const second = await runCli(["database", "migrate"], { env: { DATABASE_URL: fresh } });

    expect(first.stdout).toMatch(/^The tables were created, with version \d+\.\n$/);
    expect(second.stdout).toMatch(/^The tables have version \d+ already\.\n$/);
    await (await openPostgresBackend({ url: fresh, migrate: false })).close();
  });

  test.each([
    [["postgres://x@127.0.0.1:1/orders"], 3, "127.0.0.1:1/orders does not answer (connection"],
    [["postgres://x@127.0.0.1:1/orders?schema=a-b"], 3, 'schema: "a-b" must have only a-z'],
    [["mysql://x@localhost/orders"], 2, "must be as in postgres://user@host/database."],
    [[], 2, "The address of the database is missing."],
    [["postgres://x@a/b", "c"], 2, '"c" is an unexpected argument.'],
  ])("%j: exit code %i", async (args, exit, sentence) => {
    const { code, stderr } = await runCli(["database", "migrate", ...args]);

    expect({ code, stderr }).toEqual({ code: exit, stderr: expect.stringContaining(sentence) });
  });
});

test.each([
  ["--no-migrate", ["--no-migrate"], {}],
  ["CONVOKE_NO_MIGRATE", [], { CONVOKE_NO_MIGRATE: "1" }],
])("a server with %s does not start on a database without tables", async (_, args, env) => {
  const database = await address();

  const { code, stderr } = await runCli(["serve", "--port", "0", "--database", database, ...args], {
    env,
  });

  expect(code).toBe(5);
  expect(stderr).toMatch(
    /^localhost\/postgres has no tables in schema test_\w+: run convoke database migrate postgres:\/\/admin@localhost/,
  );
});

describe("a server that starts on a database", () => {
  /** Serves until it is ready. */
  async function serveOnce(env: Record<string, string>): Promise<Finished> {
    const stop = new AbortController();
    const onStdout = (text: string): void => (text.includes("Type ") ? stop.abort() : undefined);
    const own = { DATABASE_URL: url, CONVOKE_TOKEN: "secret", ...env };
    return runCli(["serve", "--port", "0"], { env: own, signal: stop.signal, onStdout });
  }

  test("says among how many it is, and warns if its card would name an address of its own", async () => {
    const other = await openPostgresBackend({ url, leaseMs: 60_000 });
    onTestFinished(() => other.close());

    const { stdout, stderr } = await serveOnce({ BIND_HOST: "0.0.0.0" });

    expect(stdout).toMatch(
      /^Running {2}.*, tasks in Postgres at localhost\/postgres \(schema test_\w+, version \d+\), replica \d+; 2 servers are up\n/,
    );
    expect(JSON.parse(stderr)).toMatchObject({
      level: "warn",
      message: expect.stringMatching(/^PUBLIC_URL is not set.* the same for all servers$/),
    });
  });

  test.each([
    [
      "knows the address of callers",
      { BIND_HOST: "0.0.0.0", PUBLIC_URL: "https://agents.example" },
    ],
    ["listens on loopback", {}],
  ])("does not warn if it %s", async (_, env) => {
    expect(await serveOnce(env as Record<string, string>)).toMatchObject({ stderr: "" });
  });

  test("says that it looks for itself where no notifications arrive", () => {
    const facts = { label: "db/a", schema: "b", stored: { version: 3, minSoftware: 1 } };

    expect(placeInDatabase({ ...facts, isNotifying: false }, [])).toContain(
      "; no notifications arrive, so servers look every 250 ms",
    );
  });
});

describe("convoke database check", () => {
  test("says what is fine, and warns of settings that lose commits", async () => {
    const { code, stdout } = await runCli(["database", "check", url]);

    expect(code).toBe(0);
    expect(stdout).toMatch(/✓ Postgres \d+/);
    expect(stdout).toContain("✓ convoke may use and change the tables");
    expect(stdout).toMatch(/✓ Schema test_\w+ has version (\d+); this program knows \1/);
    expect(stdout).toContain("✓ Notifications (LISTEN) arrive");
    expect(stdout).toMatch(/A commit takes \d.* ms, the slowest of 20 took \d.* ms/);
    // The database of the tests need not survive a power failure.
    expect(stdout).toMatch(/! database-not-durable .*\n +seen +fsync = off, /);
    expect(stdout).toMatch(/^0 problems, /m);
  });

  test("a user who may not use the tables is a problem, until it is granted", async () => {
    const user = `reader_${process.pid}`;
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    onTestFinished(() => admin.end());
    await admin.query(`CREATE ROLE ${user} LOGIN`);
    const theirs = url.replace("//convoke@", `//${user}@`);

    const before = await runCli(["database", "check", theirs, "--json"]);
    await runCli(["database", "migrate", url, "--grant", user]);
    const after = await runCli(["database", "check", theirs]);

    expect(before.code).toBe(1);
    expect(JSON.parse(before.stdout)).toMatchObject({
      verdict: "problems",
      diagnoses: expect.arrayContaining([
        expect.objectContaining({ id: "database-rights", severity: "problem" }),
      ]),
    });
    expect(after.code).toBe(0);
    expect(after.stdout).toContain(`✓ ${user} may use, but not change, the tables`);
  });

  const HEALTHY: DatabaseFacts = {
    label: "db/convoke",
    schema: "convoke",
    version: "17.2",
    encoding: "UTF8",
    isStandby: false,
    stored: { version: 2, minSoftware: 1 },
    known: 2,
    user: "convoke",
    isCreator: true,
    forbidden: [],
    clockOffsetMs: -3,
    isNotifying: true,
    unsafe: [],
    commitsMs: [0.8, 1, 30],
    connections: { most: 97, used: 10 },
    standbys: [{ name: "second", isSynchronous: true, lagMs: 2 }],
  };

  function diagnosesOf(facts: DatabaseFacts): readonly string[] {
    const findings = new Findings();
    judge(facts, findings);
    return findings.diagnoses.map(({ id }) => id);
  }

  test("a database without faults has no diagnosis, also if a newer program has added to it", () => {
    expect(diagnosesOf(HEALTHY)).toEqual([]);
    expect(diagnosesOf({ ...HEALTHY, stored: { version: 5, minSoftware: 2 } })).toEqual([]);
  });

  const FAULTS: Readonly<Record<keyof typeof DATABASE_DIAGNOSES, Partial<DatabaseFacts>>> = {
    "database-too-old": { version: "14.9 (Debian 14.9-1)" },
    "database-encoding": { encoding: "LATIN1" },
    "database-standby": { isStandby: true, isNotifying: false, commitsMs: [] },
    "database-rights": { forbidden: ["task", "segment"] },
    "database-not-migrated": { stored: { version: 1, minSoftware: 1 } },
    "database-too-new": { stored: { version: 4, minSoftware: 3 } },
    "database-clock": { clockOffsetMs: -1500 },
    "database-no-notify": { isNotifying: false },
    "database-not-durable": { unsafe: ["fsync = off"] },
    "database-slow-commits": { commitsMs: [10, 40, 90] },
    "database-connections": { connections: { most: 97, used: 92 } },
    "database-asynchronous": { standbys: [{ name: "second", isSynchronous: false }] },
  };

  test.each(Object.entries(FAULTS))("finds %s", (id, fault) => {
    expect(diagnosesOf({ ...HEALTHY, ...fault })).toEqual([id]);
  });
});

test("convoke replicas lists the servers that are up, and then those that are gone", async () => {
  const database = await address();
  const gone = await openPostgresBackend({ url: database, host: "first" });
  await gone.commit({
    taskId: "t1",
    create: { owner: "ann", contextId: "c", agent: "local", createdAt: 1, host: "first" },
    epoch: 1,
    events: ["{}"],
    state: "working",
    statusAt: 1,
    listed: true,
    running: true,
  });
  await gone.close();
  const up = await openPostgresBackend({ url: database, host: "second", leaseMs: 60_000 });
  onTestFinished(() => up.close());

  const { code, stdout } = await runCli(["replicas", database]);
  const json = await runCli(["replicas", database, "--json"]);

  expect(code).toBe(0);
  const [heads, ...rows] = stdout.trimEnd().split("\n");
  expect(heads).toMatch(/^REPLICA +STATE +HOST +SOFTWARE +STARTED +TASKS +LEASE$/);
  expect(rows).toEqual([
    expect.stringMatching(/^\d+ +up +second +convoke \d\S+ +\d+s ago +0 +\d+\.\ds left$/),
    expect.stringMatching(/^\d+ +gone +first +convoke \d\S+ +\d+s ago +0 +ended \d+s ago$/),
    "",
    "1 task waits for a server on the host first.",
  ]);
  expect(JSON.parse(json.stdout)).toMatchObject({
    replicas: [
      { isUp: false, host: "first", running: 0 },
      { isUp: true, host: "second", leaseMs: expect.any(Number) },
    ],
    waitingForHosts: [{ host: "first", tasks: 1 }],
  });
});

test("convoke replicas of a database without tables names the command that creates them", async () => {
  const { code, stderr } = await runCli(["replicas", await address(), "--json"]);

  expect(code).toBe(3);
  expect(JSON.parse(stderr)).toMatchObject({
    error: { kind: "database", message: expect.stringContaining("run convoke database migrate") },
  });
});
