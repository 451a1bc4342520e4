import type { Backend } from "@convoke/engine";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { noHints } from "./no-hints.suite.ts";
import { Connection, toAddress } from "./connection.ts";
import { startKeeperHere } from "./lease.ts";
import { Partitions, partitionName } from "./partitions.ts";
import { openWithParts } from "./postgres-backend.ts";

const address = needsPostgres();

/** By the clock of the database, which runs on this machine. */
const today = Math.floor(Date.now() / 86_400_000);

async function anInstallation(parameters = "") {
  const url = `${await address()}${parameters}`;
  const { schema } = toAddress(url);
  const backend = await openWithParts({ url }, { startKeeper: startKeeperHere, openBus: noHints });
  const admin = new pg.Client({ connectionString: url.replace(parameters, "") });
  await admin.connect();
  const [connection, other] = [1, 2].map(() => new Connection(toAddress(url)));
  onTestFinished(async () => {
    await backend.close();
    await Promise.all([connection!.close(), other!.close()]);
    await admin.end();
  });
  const partitions = async (): Promise<readonly string[]> => {
    const { rows } = await admin.query<{ readonly name: string }>(
      `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
       WHERE i.inhparent = '${schema}.segment'::regclass ORDER BY 1`,
    );
    return rows.map(({ name }) => name);
  };
  return {
    backend,
    /** Reads the logs until the test ends. */
    backUp: async () => {
      await admin.query("BEGIN");
      await admin.query(`LOCK TABLE ${schema}.segment IN ACCESS SHARE MODE`);
    },
    /** The partitions after two processes have tended them on a day. */
    tended: async (day: number): Promise<readonly string[]> => {
      const janitor = new Partitions(connection!, true);
      await Promise.all([janitor.tend(day), new Partitions(other!, true).tend(day)]);
      return partitions();
    },
    partitions,
    /** In which tables the log of a task is. */
    tablesOf: async (taskId: string): Promise<readonly string[]> => {
      const { rows } = await admin.query<{ readonly name: string }>(
        `SELECT DISTINCT c.relname AS name FROM ${schema}.segment s
         JOIN ${schema}.task t ON t.n = s.task JOIN pg_class c ON c.oid = s.tableoid
         WHERE t.task_id = $1`,
        [taskId],
      );
      return rows.map(({ name }) => name);
    },
  };
}

function days(from: number, to: number): readonly string[] {
  return Array.from({ length: to - from + 1 }, (_, place) => partitionName(from + place));
}

/** What is locked by others is left for the next time. */
const PATIENT = { timeout: 20_000 };

const step = { epoch: 1, events: ["{}"], listed: true } as const;

async function begin(backend: Backend, taskId: string): Promise<void> {
  const create = { owner: "ann", contextId: "c", agent: "greeter", createdAt: 1 };
  await backend.commit({ ...step, taskId, create, state: "working", statusAt: 1 });
}

test("the logs of a day are in a partition, which is dropped when the tasks are gone", async () => {
  const { backend, tended, tablesOf } = await anInstallation();
  await begin(backend, "t");

  expect(await tablesOf("t")).toEqual([partitionName(today)]);
  await expect
    .poll(() => tended(today), PATIENT)
    .toEqual([...days(today, today + 2), "segment_rest"]);

  // Days later, the log of the open task grows where it is.
  await expect
    .poll(() => tended(today + 5), PATIENT)
    .toEqual([partitionName(today), ...days(today + 5, today + 7), "segment_rest"]);
  await backend.commit({ ...step, taskId: "t", state: "completed", statusAt: 2 });
  expect(await tablesOf("t")).toEqual([partitionName(today)]);

  await backend.retention.prune({ endedBefore: 9, keep: 0, limit: 9 });
  await expect
    .poll(() => tended(today + 5), PATIENT)
    .toEqual([...days(today + 5, today + 7), "segment_rest"]);
});

test("the log of a task whose day has no partition is in the remaining table", async () => {
  const { backend, tended, tablesOf } = await anInstallation();
  await expect
    .poll(() => tended(today + 5), PATIENT)
    .toEqual([...days(today + 5, today + 7), "segment_rest"]);

  await begin(backend, "t");
  // The partition cannot be made any more.
  await expect
    .poll(() => tended(today), PATIENT)
    .toEqual([...days(today + 1, today + 2), ...days(today + 5, today + 7), "segment_rest"]);
  await backend.commit({ ...step, taskId: "t", state: "working", statusAt: 2 });

  expect(await tablesOf("t")).toEqual(["segment_rest"]);
  expect(await backend.read("t", 0, 9)).toHaveLength(2);
});

test("partitions=none in the address keeps all logs in one table", async () => {
  const { backend, partitions } = await anInstallation("&partitions=none");
  await begin(backend, "t");
  await backend.retention.prune({ endedBefore: 9, keep: 0, limit: 9 });

  expect(await partitions()).toEqual(["segment_rest"]);
});

test("while a backup reads the logs, partitions wait for the next time, and commits do not", async () => {
  const { backend, backUp, tended, partitions } = await anInstallation();
  const before = await partitions();
  await backUp();

  expect(await tended(today + 1)).toEqual(before);
  await begin(backend, "t");
  expect(await backend.read("t", 0, 9)).toHaveLength(1);
});
