import { hash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Backend, CommitResult } from "@convoke/engine";
import { expect, test } from "vitest";
import { emptySchemas } from "../postgres/empty-schema.suite.ts";
import { openPostgresValues } from "../postgres/key-values.ts";
import { openPostgresBackend } from "../postgres/postgres-backend.ts";
import { subAgentUrl } from "../postgres/sub-agent-schema.ts";
import { openSqliteBackend } from "../sqlite/sqlite-backend.ts";
import { temporaryFolder } from "../sqlite/temporary-folder.suite.ts";
import { fillStore, ownerOf, taskId } from "./a-store.suite.ts";
import { type TaskContent, contentOf } from "./content-of.suite.ts";
import { copyToDatabase } from "./copy-to-database.ts";

const schemas = emptySchemas();

async function aFolder(tasks?: number): Promise<string> {
  const folder = temporaryFolder();
  await using backend = await opened(folder);
  await fillStore(backend, tasks);
  return folder;
}

async function opened(place: string): Promise<Backend & AsyncDisposable> {
  const backend = place.startsWith("postgres:")
    ? await openPostgresBackend({ url: place })
    : await openSqliteBackend({ folder: place, durability: "process" });
  return Object.assign(backend, { [Symbol.asyncDispose]: () => backend.close() });
}

async function contentIn(place: string): Promise<readonly TaskContent[]> {
  await using backend = await opened(place);
  return await contentOf(backend);
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
  return {
    list: await backend.tasks.list({ owner: ownerOf(1), limit: 100 }),
    unfinished: await backend.tasks.unfinished("", 100),
    pushes: await backend.pushes.list({ state: "active", limit: 100 }),
    retry: await sendAgain(backend, 3),
    retryOfPruned: await sendAgain(backend, 0),
    erasures: await backend.retention.erasures(),
    content: await contentOf(backend),
  };
}

test("tasks, lists, retries, pushes and erasures are the same in a database as they were in the folder", async () => {
  const { url } = await schemas();
  const folder = await aFolder();
  const before = await opened(folder);
  await before.retention.putErasure("e1", '{"owner":"eve","startedAt":1}');
  const expected = await answersOf(before);
  await before.close();

  expect(await copyToDatabase({ from: folder, to: url })).toEqual({ tasks: 19 });

  await using moved = await opened(url);
  expect(await answersOf(moved)).toEqual(expected);
  await expect(openSqliteBackend({ folder })).rejects.toThrow("was moved to postgres:");
  const again = copyToDatabase({ from: folder, to: url });
  await expect(again).rejects.toThrow(`${folder} was moved already.`);
});

test("API keys and what was disabled are where servers look for them, unless the database has its own", async () => {
  const { url } = await schemas();
  const folder = await aFolder(1);
  writeFileSync(join(folder, "api-keys.json"), '{"keys":["ci"]}');
  writeFileSync(join(folder, "agents.json"), '{"version":1,"agents":{}}');
  await using values = await openPostgresValues({ url });
  await values.open("agents").put("changes", "its own");

  await copyToDatabase({ from: folder, to: url });

  expect((await values.open("api-keys").get("keys"))?.value).toBe('{"keys":["ci"]}');
  expect((await values.open("agents").get("changes"))?.value).toBe("its own");
});

test("the tasks of sub-agents move to the schemas in which servers look for them", async () => {
  const { url } = await schemas();
  const folder = await aFolder(3);
  // One of several agents of a host has no tasks of its own in its folder.
  for (const path of ["agents/Hotel Finder", "agents/travel/agents/trains"]) {
    mkdirSync(join(folder, path), { recursive: true });
    await using backend = await opened(join(folder, path));
    await fillStore(backend, 2);
  }
  const hotels = await contentIn(join(folder, "agents/Hotel Finder"));
  const trains = await contentIn(join(folder, "agents/travel/agents/trains"));

  await copyToDatabase({ from: folder, to: url });

  expect(await contentIn(subAgentUrl(url, "Hotel Finder"))).toEqual(hotels);
  expect(await contentIn(subAgentUrl(url, "trains"))).toEqual(trains);
});

test("large files move to the folder that servers of the database use, which must be named", async () => {
  const { url } = await schemas();
  const folder = await aFolder(5);
  const content = randomBytes(100_000);
  const digest = hash("sha256", content, "hex");
  const backend = await opened(folder);
  const blob = { taskId: taskId(3), digest, size: content.length };
  await backend.blobs!.put(blob, () => [content]);
  await backend.close();
  const files = join(temporaryFolder(), "files");

  await expect(copyToDatabase({ from: folder, to: url })).rejects.toThrow("with --files");
  await copyToDatabase({ from: folder, to: url, files });

  expect(readFileSync(join(files, taskId(3), digest)).equals(content)).toBe(true);
});

test("a copy that is cut off leaves the database empty, and is completed by the next one", async () => {
  const { url, schema, admin } = await schemas();
  const folder = await aFolder();
  const expected = await contentIn(folder);
  const controller = new AbortController();
  const onProgress = (): void => controller.abort(new Error("cut off"));

  const cut = copyToDatabase({ from: folder, to: url, signal: controller.signal, onProgress });
  await expect(cut).rejects.toThrow("cut off");

  await expect(opened(folder)).rejects.toThrow("is being moved to postgres:");
  await expect(opened(url)).rejects.toThrow(
    `is not complete: it is being filled from ${folder}. Run that convoke migrate or convoke restore again, or execute DROP SCHEMA "${schema}" CASCADE`,
  );
  const { rows } = await admin.query(`SELECT count(*)::int AS tasks FROM ${schema}.task`);
  expect(rows).toEqual([{ tasks: 0 }]);
  await expect(copyToDatabase({ from: await aFolder(1), to: url })).rejects.toThrow("not complete");
  await copyToDatabase({ from: folder, to: url });
  expect(await contentIn(url)).toEqual(expected);
});

/** What an earlier version has written, in the words that it used. */
const MARKS = {
  folder: (peer: string, isDone: boolean) =>
    JSON.stringify({ id: "08e0fe55-3d8c-4ac2-a4d8-17a1dc83dd4f", role: "source", peer, isDone }),
  schema: (peer: string) =>
    JSON.stringify({
      id: "08e0fe55-3d8c-4ac2-a4d8-17a1dc83dd4f",
      role: "target",
      peer,
      isDone: false,
    }),
};

/** How a move of an earlier version names the database of the tests. */
function labelOf(url: string): string {
  const { host, pathname, searchParams } = new URL(url);
  return `postgres://${host || searchParams.get("host")}${pathname}?schema=${searchParams.get("schema")}`;
}

test("a move that an earlier version has begun, with a part of the tasks, is completed", async () => {
  const { url, schema, admin } = await schemas();
  const folder = await aFolder();
  const expected = await contentIn(folder);
  await (await opened(url)).close();
  writeFileSync(join(folder, "transfer.json"), MARKS.folder(labelOf(url), false));
  await admin.query(
    `INSERT INTO ${schema}.meta (key, value) VALUES ('transfer', $1), ('transfer_written', '1')`,
    [MARKS.schema(folder)],
  );
  await admin.query(
    `INSERT INTO ${schema}.task (n, task_id, owner, context, agent, epoch, state, status_at, created_at,
       listed, ended, compacted) VALUES (7, $1, 'ann', 'c', 'a', 1, 1, 1, 1, true, false, false)`,
    [taskId(3)],
  );

  await expect(opened(folder)).rejects.toThrow("is being moved to");
  await expect(opened(url)).rejects.toThrow("is not complete");
  await copyToDatabase({ from: folder, to: url });

  expect(await contentIn(url)).toEqual(expected);
  const { rows } = await admin.query(`SELECT 1 FROM ${schema}.meta WHERE key ~ '^transfer'`);
  expect(rows).toEqual([]);
});

test("a move of which only the last steps are missing copies the files, and no rows again", async () => {
  const { url, schema, admin } = await schemas();
  const folder = await aFolder(3);
  await copyToDatabase({ from: folder, to: url });
  await admin.query(`INSERT INTO ${schema}.meta (key, value) VALUES ('transfer', $1)`, [
    MARKS.schema(folder),
  ]);
  writeFileSync(join(folder, "transfer.json"), MARKS.folder(labelOf(url), true));
  // An earlier version moved the files to their place after it had marked the folder.
  mkdirSync(join(folder, "files", taskId(2)), { recursive: true });
  writeFileSync(join(folder, "files", taskId(2), "digest"), "content");
  const files = join(temporaryFolder(), "files");
  mkdirSync(`${files}.incoming`);
  const { rows: before } = await admin.query(`SELECT n FROM ${schema}.task ORDER BY n`);

  await copyToDatabase({ from: folder, to: url, files });

  const { rows: after } = await admin.query(`SELECT n FROM ${schema}.task ORDER BY n`);
  expect(after).toEqual(before);
  expect(readFileSync(join(files, taskId(2), "digest"), "utf8")).toBe("content");
  expect(existsSync(`${files}.incoming`)).toBe(false);
  await (await opened(url)).close();
});

test("places that an earlier version has moved elsewhere, or was restoring, are refused and left as they are", async () => {
  const { url, schema, admin } = await schemas();
  const folder = await aFolder(1);
  const elsewhere = "postgres://db.example/convoke?schema=convoke";
  writeFileSync(join(folder, "transfer.json"), MARKS.folder(elsewhere, true));

  await expect(copyToDatabase({ from: folder, to: url })).rejects.toThrow(
    `was moved to ${elsewhere}. Serve that.`,
  );
  await expect(opened(folder)).rejects.toThrow("before the move, delete its transfer.json.");
  await (await opened(url)).close();
  for (const [mark, why] of [
    [{ id: "m", role: "source", peer: "/srv/tasks", isDone: true }, "was moved to /srv/tasks"],
    [{ id: "restore", role: "target", peer: "tasks.backup" }, "being filled from tasks.backup"],
  ] as const) {
    await admin.query(
      `INSERT INTO ${schema}.meta (key, value) VALUES ('transfer', $1)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
      [JSON.stringify(mark)],
    );
    await expect(opened(url)).rejects.toThrow(why);
    const copied = copyToDatabase({ from: await aFolder(1), to: url });
    await expect(copied).rejects.toThrow(why);
  }
});

test("a folder or a database that a server uses is refused, and both stay as they were", async () => {
  const { url } = await schemas();
  const folder = await aFolder(1);
  await using server = await opened(url);

  await expect(copyToDatabase({ from: folder, to: url })).rejects.toThrow(
    /^A server on .* uses postgres:.*: stop it first/,
  );
  await (await opened(folder)).close();
  await server.close();
  await using other = await opened(folder);
  await expect(copyToDatabase({ from: folder, to: url })).rejects.toThrow("is in use by");
  await other.close();

  await (await opened(url)).close();
});

test("a database with tasks is refused", async () => {
  const { url } = await schemas();
  const server = await opened(url);
  await fillStore(server, 1);
  await server.close();

  const copied = copyToDatabase({ from: await aFolder(1), to: url });
  await expect(copied).rejects.toThrow("has tasks already: name an empty database.");
});
