import { defineAgent } from "convoke";
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, textOf, userMessage } from "@convoke/protocol";
import { describe, expect, onTestFinished, test } from "vitest";
import { writeAgent } from "../start/agent-file.ts";
import { serveConvoke, startConvoke } from "../start/convoke-process.ts";
import { foldOf } from "../start/fold-of.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";
import { DIALECTS } from "../wire/dialect.ts";
import { type Answer, faultOf } from "../wire/rpc.ts";
import { WireClient } from "../wire/wire-client.ts";
import { INTERRUPTED, V03, lastOf, listAll, readLog, taskOf } from "./logs.ts";
import { once } from "node:events";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { openWithWorker, startWorker } from "../../packages/backends/src/sqlite/sqlite-backend.ts";
import { type Server, serve } from "@convoke/server";
import { acceptMessage, createEngine, createJsonLogger, isSettled } from "@convoke/engine";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";

/** The storage failed: the caller can retry, and only the log says what happened. */
function expectStorageFailure(answer: Answer, code: string, { log }: LockableServer): void {
  expect(answer.status).toBe(503);
  expect(answer.headers.get("retry-after")).toBe("1");
  expect(faultOf(answer).code).toBe(-32603);
  expect(answer.text).not.toMatch(/sqlite|database|commit/i);
  expect(log.filter((line) => line.includes(code))).toHaveLength(1);
}

/** "1 2 3 … count", as the demo agent counts. */
function counted(count: number): string {
  return Array.from({ length: count }, (_, index) => index + 1).join(" ");
}

describe.each(DIALECTS)("a database that is locked ($version)", (dialect) => {
  verifies(
    ["G1", "G5"],
    "a send fails without a trace, other tasks can be read, and a stream continues afterwards",
    async () => {
      const server = await serveLockable();
      const client = new WireClient(server, dialect);
      const done = await client.sendTask("hello");
      const asking = await client.sendTask("ask");
      const stream = await client.stream("slow 40");
      const { id } = taskOf(await stream.take(5), dialect);
      const message = { messageId: "locked-out" };
      const answering = { message: { taskId: asking.id, messageId: "my-name" } };

      server.lock();
      const refused = await client.send("hello again", { message });
      const during = await client.get(id);
      const unheard = await client.send("Ann", answering);
      const parts = [dialect.text("x")];
      const streamRefused = await client.call("stream", {
        message: { ...message, role: dialect.user, parts },
      });

      expectStorageFailure(refused, "SQLITE_BUSY", server);
      expectStorageFailure(unheard, "SQLITE_BUSY", server);
      expect(streamRefused.text).toContain("-32603");
      expect(await client.get(done.id)).toEqual(done);
      expect(await client.get(asking.id)).toEqual(asking);
      // The agent continues, but nothing is visible before it is stored.
      expect(await client.get(id)).toEqual(during);
      expect([...(await listAll(server)).keys()].toSorted()).toEqual(
        [done.id, asking.id, id].toSorted(),
      );

      server.release();
      const frames = await stream.all;
      const answered = await client.sendTask("Ann", answering);
      const sent = await client.sendTask("hello again", { message });

      expect(textOf(foldOf(frames, dialect))).toBe(counted(40));
      expect(lastOf(frames, dialect)).toMatchObject({ status: { state: "completed" } });
      expect(frames).toEqual(await readLog(server, id, dialect));
      expect(textOf(answered)).toBe("Hello, Ann!");
      expect(sent.status.state).toBe("completed");
      expect((await listAll(server)).size).toBe(4);
    },
  );

  verifies(
    "G1",
    "a task is canceled once that can be stored, even if its agent ignores the signal",
    async () => {
      const goOn = Promise.withResolvers<void>();
      const agent = defineAgent({
        name: "Deaf",
        description: "Does not hear that it should stop.",
        async *run() {
          yield "before ";
          await goOn.promise;
          yield "after";
        },
      });
      const server = await serveLockable({ agent });
      const client = new WireClient(server, dialect);
      const stream = await client.stream("work");
      const { id } = taskOf(await stream.take(3), dialect);

      server.lock();
      const canceling = client.cancel(id);
      // Longer than the engine waits for an agent that ignores its signal.
      await sleep(800);
      const during = await client.get(id);
      server.release();
      const canceled = await canceling;
      goOn.resolve();

      expect(during.status.state).toBe("working");
      expect(canceled.status.state).toBe("canceled");
      const frames = await stream.all;
      expect(frames).toEqual(await readLog(server, id, dialect));
      expect(textOf(foldOf(frames, dialect))).toBe("before ");
      expect(await client.get(id)).toEqual(canceled);
    },
  );
});

test("no caller waits for a storage that stays locked, and its request is executed later", async () => {
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const agent = defineAgent({
    name: "Slow",
    description: "Says more when it is told to.",
    async *run({ signal }) {
      yield "before ";
      begun.resolve();
      await goOn.promise;
      yield "after";
      await once(signal, "abort");
    },
  });
  const server = await serveLockable({ agent });
  const client = new WireClient(server, V03);
  const message = { messageId: "m1" };
  const waiting = client.send("work", { message });
  await begun.promise;
  const [id = ""] = [...(await listAll(server)).keys()];

  server.lock();
  goOn.resolve();
  const [left, canceled] = await Promise.all([waiting, client.call("cancel", { id })]);
  const logged = server.log.filter((line) => line.includes("trying again"));
  server.release();

  expectStorageFailure(left, "SQLITE_BUSY", server);
  expectStorageFailure(canceled, "SQLITE_BUSY", server);
  expect(logged).toHaveLength(1);
  await expect
    .poll(async () => (await client.get(id)).status.state, { timeout: 20_000 })
    .toBe("canceled");
  expect(server.log.join("")).toContain("the storage works again");
  expect((await client.sendTask("work", { message })).id).toBe(id);
});

test("a server that is closed while its database is locked stops retrying", async () => {
  const server = await serveLockable();
  const stream = await new WireClient(server, V03).stream("slow 1000");
  await stream.take(3);

  server.lock();
  await expect.poll(() => server.log.join("")).toContain("trying again");
  await server.close();
  await sleep(1000);

  expect(JSON.stringify(await stream.all)).not.toContain("completed");
  expect(server.log.join("")).not.toContain("closed");
});

test.each(DIALECTS)("a database that is full ($version)", async (dialect) => {
  const server = await serveLockable({ maxBytes: 400_000 });
  const client = new WireClient(server, dialect);
  const done = await client.sendTask("hello");

  const tooLarge = await client.send("x".repeat(1_000_000));

  expectStorageFailure(tooLarge, "SQLITE_FULL", server);
  expect(await client.get(done.id)).toEqual(done);
  expect([...(await listAll(server)).keys()]).toEqual([done.id]);
  expect((await client.sendTask("hello")).status.state).toBe("completed");
});

verifies(
  "G3",
  "the end of the storage thread is the end of the process, with one sentence",
  async () => {
    const cwd = temporaryFolder();
    // Node reports every thread that is started to the main thread, and the storage thread is the
    // only one.
    const agent = writeAgent(
      cwd,
      `import { existsSync } from "node:fs";
       import { setTimeout as sleep } from "node:timers/promises";
       let storage;
       process.on("worker", (worker) => { storage = worker; });
       export default defineAgent({
         name: "Saboteur",
         description: "Ends the thread of the storage when it is asked to.",
         async *run({ text }) {
           yield "I heard " + text;
           if (text !== "end it") return;
           // The thread is started for what is not committed on the event loop, such as a long text.
           yield "!".repeat(600_000);
           while (storage === undefined || !existsSync("now")) await sleep(20);
           await storage.terminate();
         },
       });`,
    );
    const args = ["serve", agent];
    const first = await serveConvoke({ cwd, args });
    const client = new WireClient(first, V03);
    const done = await client.sendTask("hello");
    const stream = await client.stream("end it");
    await stream.until(({ raw }) => raw.includes("I heard"));
    writeFileSync(join(cwd, "now"), "");

    const { code, stderr } = await first.program.ended;

    expect(code).toBe(1);
    expect(stderr).toBe(
      "The storage thread stopped: it exited with code 1, so this server stops. All responses sent so far are stored. Start it again.\n",
    );
    await expect(stream.all).rejects.toThrow();
    const { id } = taskOf(await stream.until(() => true), V03);
    const second = await serveConvoke({ cwd, args });
    expect(await new WireClient(second, V03).get(done.id)).toEqual(done);
    expect(lastOf(await readLog(second, id))).toMatchObject(INTERRUPTED);
  },
);

test.each([
  ["its data folder is deleted", (data: string) => rmSync(data, { recursive: true }), "deleted"],
  ["its lock is replaced", replaceLock, "replaced"],
])("a server stops with one sentence when %s", async (_what, spoil, told) => {
  const cwd = temporaryFolder();
  const data = join(cwd, "data");
  const { program } = await serveConvoke({ cwd, args: ["serve", "--data", data] });

  spoil(data);
  const { code, stderr } = await program.ended;

  expect(code).toBe(1);
  expect(stderr).toBe(
    `The data folder ${data} cannot be used any more: its lock.db was ${told} while a server used it. This server stops.\n`,
  );
});

function replaceLock(data: string): void {
  writeFileSync(join(data, "another"), "");
  renameSync(join(data, "another"), join(data, "lock.db"));
}

describe("a database with a damaged page", () => {
  test("is reported in one sentence at the start", async () => {
    const cwd = temporaryFolder();
    const data = await damagedFolder(cwd);

    const { code, stdout, stderr } = await startConvoke({
      cwd,
      args: ["serve", "--data", data],
    }).ended;

    expect({ code, stdout }).toEqual({ code: 5, stdout: "" });
    expect(stderr).toBe(
      `The data folder ${data} has a damaged database (SQLITE_CORRUPT: database disk image is malformed): stop the server, and restore tasks.db from a backup, or repair it with "sqlite3 tasks.db .recover | sqlite3 repaired.db".\n`,
    );
  });

  test("stops the storage at the first write, which is not retried", async () => {
    const folder = await damagedFolder(temporaryFolder());
    const fatal = Promise.withResolvers<Error>();
    const backend = await openSqliteBackend({ folder, onFatal: fatal.resolve });
    onTestFinished(() => backend.close());
    const logger = createJsonLogger("silent", () => undefined);
    const engine = createEngine({ agent: demoAgent, backend, logger });

    const message = userMessage("m1", "hello");
    await expect(acceptMessage(engine, { message, caller: { owner: "ann" } })).rejects.toThrow();

    expect((await fatal.promise).message).toContain("has a damaged database (SQLITE_CORRUPT");
  });
});

/**
 * A data folder with an unfinished task and a damaged database: the first page of every table and index is
 * overwritten, except of the two tables that are read when it is opened.
 */
async function damagedFolder(cwd: string): Promise<string> {
  const data = join(cwd, "data");
  const backend = await openSqliteBackend({ folder: data });
  const logger = createJsonLogger("silent", () => undefined);
  const engine = createEngine({ agent: demoAgent, backend, logger });
  const message = userMessage("m0", "ask");
  const { live } = await acceptMessage(engine, { message, caller: { owner: "ann" } });
  await live.until(isSettled);
  engine.close();
  await backend.close();
  const file = join(data, "tasks.db");
  const db = new DatabaseSync(file);
  const damaged = db
    .prepare("SELECT rootpage FROM sqlite_schema WHERE tbl_name NOT IN ('message_keys', 'store')")
    .all()
    .map((row) => Number(row["rootpage"]));
  db.close();
  const bytes = readFileSync(file);
  for (const page of damaged) bytes.fill(0xee, 4096 * (page - 1), 4096 * page);
  writeFileSync(file, bytes);
  return data;
}

/** A complete server in this process, whose storage a test can lock for a while. */
interface LockableServer extends Server {
  readonly folder: string;
  /** Everything it logged. */
  readonly log: readonly string[];
  /** Another program writes to the database and locks out all other writers. */
  lock(): void;
  release(): void;
}

async function serveLockable(
  options: { readonly agent?: Agent; readonly maxBytes?: number } = {},
): Promise<LockableServer> {
  const { agent = demoAgent, maxBytes } = options;
  const folder = temporaryFolder();
  const log: string[] = [];
  const server = await serve(agent, {
    port: 0,
    host: "127.0.0.1",
    idempotency: "always",
    logger: createJsonLogger("warn", (line) => log.push(line)),
    openBackend: () =>
      openWithWorker(
        {
          folder,
          // Short, so that a test need not wait the usual five seconds for each failure.
          busyTimeoutMs: 50,
          ...(maxBytes !== undefined && { maxBytes }),
        },
        startWorker,
        // Every commit is a transaction, so that a locked database fails it at once.
        "thread",
      ),
  });
  const other = new DatabaseSync(join(folder, "tasks.db"), { timeout: 20_000 });
  onTestFinished(async () => {
    other.close();
    await server.close();
  });
  return {
    ...server,
    folder,
    log,
    lock: () => other.exec("BEGIN IMMEDIATE"),
    release: () => other.exec("ROLLBACK"),
  };
}
