import { hash, randomBytes } from "node:crypto";
import type { Backend, CommitResult } from "@convoke/engine";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { emptySchemas } from "../postgres/empty-schema.suite.ts";
import { openPostgresBackend } from "../postgres/postgres-backend.ts";
import { subAgentUrl } from "../postgres/sub-agent-schema.ts";
import { openPostgresValues } from "../postgres/key-values.ts";
import { openSqliteBackend } from "../sqlite/sqlite-backend.ts";
import { temporaryFolder } from "../sqlite/temporary-folder.suite.ts";
import { fillStore, ownerOf, taskId } from "./a-store.suite.ts";
import { migrateStores, undoMove } from "./migrate-stores.ts";
import { recordsIn } from "./records-in.suite.ts";

const schemas = emptySchemas();

async function aFolder(tasks?: number): Promise<string> {
  const folder = temporaryFolder();
  const backend = await openSqliteBackend({ folder, durability: "process" });
  await fillStore(backend, tasks);
  await backend.close();
  writeFileSync(join(folder, "agent.json"), '{"agents":[]}');
  return folder;
}

function newFolder(): string {
  return join(temporaryFolder(), "tasks");
}

/** Sends the message of a task again, as a retry would. */
function sendAgain(backend: Backend, index: number): Promise<CommitResult> {
  const create = { owner: ownerOf(index), contextId: "new", agent: "Greeter", agentId: "greeter" };
  return backend.commit({
    taskId: "a retry",
    create: { ...create, createdAt: 1 },
    message: { messageId: `m${index}`, digest: "another" },
    epoch: 1,
    events: [],
    state: "submitted",
    statusAt: 1,
    listed: true,
  });
}

async function answersOf(backend: Backend): Promise<object> {
  const list = await backend.tasks.list({ owner: ownerOf(1), limit: 100 });
  return {
    list,
    unfinished: await backend.tasks.unfinished("", 100),
    pushes: await backend.pushes.list({ state: "active", limit: 100 }),
    // Only a database stores the epochs of events.
    log: (await backend.read(taskId(3), 0, 100)).map(({ seq, json, at }) => ({ seq, json, at })),
    task: await backend.tasks.get(taskId(3)),
    retry: await sendAgain(backend, 3),
    retryOfPruned: await sendAgain(backend, 0),
  };
}

test("large files move to the folder of a database, and back", async () => {
  const { url } = await schemas();
  const folder = await aFolder(5);
  const content = randomBytes(600_000);
  const digest = hash("sha256", content, "hex");
  const backend = await openSqliteBackend({ folder });
  const blob = { taskId: taskId(3), digest, size: content.length };
  await backend.blobs!.put(blob, () => [content]);
  await backend.close();
  const files = join(temporaryFolder(), "files");

  await migrateStores({ from: folder, to: url, files });
  expect(readFileSync(join(files, taskId(3), digest)).equals(content)).toBe(true);

  const back = newFolder();
  await migrateStores({ from: url, to: back, files });
  expect(readFileSync(join(back, "files", taskId(3), digest)).equals(content)).toBe(true);
});

test("tasks, lists, retries and pushes are the same in a folder, moved to a database, and moved back", async () => {
  const { url } = await schemas();
  const folder = await aFolder();
  const records = await recordsIn(folder);
  const before = await openSqliteBackend({ folder });
  const expected = await answersOf(before);
  await before.close();
  expect(expected).toMatchObject({
    retry: { kind: "duplicate", taskId: taskId(3), digest: "digest 3" },
    retryOfPruned: { kind: "duplicate", taskId: taskId(0) },
  });

  await migrateStores({ from: folder, to: url });

  expect(await recordsIn(url)).toEqual(records);
  const database = await openPostgresBackend({ url });
  expect(await answersOf(database)).toEqual(expected);
  await database.close();

  const back = newFolder();
  await migrateStores({ from: url, to: back });

  expect(await recordsIn(back)).toEqual(records);
  expect(readFileSync(join(back, "agent.json"), "utf8")).toBe('{"agents":[]}');
  const again = await openSqliteBackend({ folder: back });
  expect(await answersOf(again)).toEqual(expected);
  await again.close();
});

test("a folder that was moved is refused and names the database without its password, until the move is undone", async () => {
  const { url } = await schemas();
  const folder = await aFolder(4);
  const secret = url.replace("convoke@", "convoke:secret@");

  await migrateStores({ from: folder, to: secret });

  const refused = await openSqliteBackend({ folder }).catch(({ message }: Error) => message);
  expect(refused).toMatch(
    /was moved to postgres:\/\/localhost\/postgres\?schema=test_\w+\. Serve that/,
  );
  expect(refused).toContain(`convoke migrate --undo ${folder}`);
  await expect(migrateStores({ from: folder, to: secret })).rejects.toThrow("was moved already");
  await expect(migrateStores({ from: folder, to: `${url}_other` })).rejects.toThrow("was moved to");

  expect(await undoMove(folder)).toBe(true);
  await (await openSqliteBackend({ folder })).close();
  expect(await undoMove(folder)).toBe(false);
});

test("a database that was moved to a folder is refused by servers, and can be used again when the move is undone", async () => {
  const { url } = await schemas();
  await migrateStores({ from: await aFolder(4), to: url });
  const folder = newFolder();

  await migrateStores({ from: url, to: folder });

  await expect(openPostgresBackend({ url })).rejects.toThrow(`was moved to ${folder}`);
  await undoMove(url);
  await (await openPostgresBackend({ url })).close();
});

test("a move is refused if the target has tasks, or a server uses one of both, and nothing is marked then", async () => {
  const { url } = await schemas();
  const folder = await aFolder(4);
  const database = await openPostgresBackend({ url });
  await expect(migrateStores({ from: folder, to: url })).rejects.toThrow("stop it first");
  await fillStore(database, 1);
  await database.close();
  await expect(migrateStores({ from: folder, to: url })).rejects.toThrow("has tasks already");

  const server = await openSqliteBackend({ folder });
  await expect(migrateStores({ from: folder, to: `${url}_new` })).rejects.toThrow("is in use");
  await expect(migrateStores({ from: url, to: folder })).rejects.toThrow("has tasks already");
  await server.close();

  await (await openSqliteBackend({ folder })).close();
  await (await openPostgresBackend({ url })).close();
  await expect(migrateStores({ from: folder, to: newFolder() })).rejects.toThrow("convoke backup");
});

test.each(["to a database", "to a folder"])(
  "a move %s that is cut off again and again goes on, and servers refuse both places meanwhile",
  async (direction) => {
    const { url } = await schemas();
    const original = await aFolder();
    const records = await recordsIn(original);
    const isBack = direction === "to a folder";
    if (isBack) await migrateStores({ from: original, to: url });
    const [from, to] = isBack ? [url, newFolder()] : [original, url];
    const open = (place: string): Promise<Backend> =>
      place === url ? openPostgresBackend({ url }) : openSqliteBackend({ folder: place });

    let cuts = 0;
    for (; ; cuts += 1) {
      const controller = new AbortController();
      let steps = 0;
      // Each attempt gets a bit further, through the copy and the comparison.
      const onProgress = (): void => {
        steps += 1;
        if (steps > 2) controller.abort(new Error("cut off"));
      };
      const moved = await migrateStores({
        from,
        to,
        batchRecords: cuts < 6 ? 12 : 1000,
        signal: controller.signal,
        onProgress,
      }).catch((error: Error) => error);
      if (!(moved instanceof Error)) break;
      expect(moved.message).toBe("cut off");
      if (cuts > 0) continue;
      await expect(open(from)).rejects.toThrow("is being moved to");
      await expect(open(to)).rejects.toThrow("is not complete");
    }

    expect(cuts).toBe(6);
    expect(await recordsIn(to)).toEqual(records);
    await (await open(to)).close();
  },
);

test("a move whose very last step fails is completed by the next one", async () => {
  const { url } = await schemas();
  const original = await aFolder(4);
  const records = await recordsIn(original);
  await migrateStores({ from: original, to: url });
  const to = newFolder();
  const inTheWay = join(to, "tasks.db");
  const onProgress = (): void => void mkdirSync(inTheWay, { recursive: true });
  await expect(migrateStores({ from: url, to, onProgress })).rejects.toThrow("EISDIR");
  rmSync(inTheWay, { recursive: true });
  await expect(openSqliteBackend({ folder: to })).rejects.toThrow("is not complete");

  expect(await migrateStores({ from: url, to })).toMatchObject({ tasks: 3 });

  expect(await recordsIn(to)).toEqual(records);
});

test("a target that is given up is empty again, and the source can be used as before", async () => {
  const { url } = await schemas();
  const folder = await aFolder();
  const signal = AbortSignal.abort(new Error("cut off"));
  await expect(migrateStores({ from: folder, to: url, signal })).rejects.toThrow("cut off");

  await undoMove(url);
  await undoMove(folder);

  const database = await openPostgresBackend({ url });
  expect(await database.tasks.unfinished("", 9)).toEqual([]);
  await database.close();
  await (await openSqliteBackend({ folder })).close();
});

test("API keys and the catalogue are where servers look for them, also after they were changed", async () => {
  const { url } = await schemas();
  const folder = await aFolder(1);
  writeFileSync(join(folder, "api-keys.json"), '{"keys":["ci"]}');
  writeFileSync(join(folder, "agents.json"), '{"version":1,"agents":{}}');

  await migrateStores({ from: folder, to: url });
  await using values = await openPostgresValues({ url });
  const keys = values.open("api-keys");
  expect((await keys.get("keys"))?.value).toBe('{"keys":["ci"]}');
  expect((await values.open("agents").get("changes"))?.value).toBe('{"version":1,"agents":{}}');
  await keys.put("keys", '{"keys":["ci, revoked"]}');
  const back = newFolder();
  await migrateStores({ from: url, to: back });

  expect(readFileSync(join(back, "api-keys.json"), "utf8")).toBe('{"keys":["ci, revoked"]}');
  expect(readFileSync(join(back, "agents.json"), "utf8")).toBe('{"version":1,"agents":{}}');
});

test("the tasks of sub-agents move to the schemas in which servers look for them, and back to their folders", async () => {
  const { url } = await schemas();
  const folder = await aFolder(3);
  // One of several agents of a host has no tasks of its own in its folder.
  for (const path of ["agents/Hotel Finder", "agents/travel/agents/trains"]) {
    mkdirSync(join(folder, path), { recursive: true });
    const backend = await openSqliteBackend({ folder: join(folder, path) });
    await fillStore(backend, 2);
    await backend.close();
  }
  const records = await recordsIn(folder);

  await migrateStores({ from: folder, to: url });

  const hotels = await openPostgresBackend({ url: subAgentUrl(url, "Hotel Finder") });
  expect(await hotels.tasks.record(taskId(1))).toBeDefined();
  await hotels.close();
  const back = newFolder();
  await migrateStores({ from: url, to: back });
  expect(await recordsIn(back)).toEqual(records);
});
