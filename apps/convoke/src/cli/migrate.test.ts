import { openSqliteBackend } from "@convoke/backends/sqlite";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { runCli } from "./testing/run-cli.suite.ts";

const address = needsPostgres();

const root = mkdtempSync(join(tmpdir(), "convoke-cli-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function aFolder(name: string): Promise<string> {
  const folder = join(root, name);
  const backend = await openSqliteBackend({ folder, durability: "process" });
  const task = { owner: "ann", contextId: "c", agent: "greeter", createdAt: 1 };
  const step = { epoch: 1, state: "completed", statusAt: 1, listed: true, events: ["{}"] } as const;
  await backend.commit({ ...step, taskId: "t1", create: task });
  await backend.close();
  return folder;
}

test("migrate moves a folder to a database, and serve on the folder then names the database", async () => {
  const [folder, url] = [await aFolder("moved"), await address()];

  expect(await runCli(["migrate", folder, url])).toEqual({
    code: 0,
    stdout: "",
    stderr: "Moved 1 task. Serve them from there from now on.\n",
  });
  const refused = await runCli(["serve", "--port", "0", "--data", folder]);
  expect(refused.code).toBe(5);
  expect(refused.stderr).toMatch(
    /^The data folder \S+ was moved to postgres:\/\/localhost\/postgres\?schema=\w+\. Serve that\./,
  );
  expect(await runCli(["migrate", folder, url])).toMatchObject({
    code: 5,
    stderr: `${folder} was moved already.\n`,
  });
});

test("migrate to a database says which agent needs its id in its code, because it was renamed", async () => {
  const [folder, url] = [await aFolder("renamed"), await address()];
  const agents = [
    { id: "greeter", names: ["Greeter", "Welcome Desk"] },
    { id: "poet", names: ["Poet"] },
  ];
  writeFileSync(join(folder, "agent.json"), JSON.stringify({ agents }));

  const { stderr } = await runCli(["migrate", folder, url]);

  expect(stderr.split("\n").slice(0, -1)).toEqual([
    'The agent "Welcome Desk" has the id "greeter": set id: "greeter" in its code, or it does not find its tasks.',
    "Moved 1 task. Serve them from there from now on.",
  ]);
});

test("backup creates a folder beside a server, and restore fills an empty one with it", async () => {
  const [folder, copy, to] = [await aFolder("served"), join(root, "b"), join(root, "restored")];
  const server = await openSqliteBackend({ folder });

  const written = await runCli(["backup", folder, copy]);
  await server.close();
  expect(written).toEqual({ code: 0, stdout: "", stderr: `Copied 1 task to ${copy}.\n` });
  const restored = { code: 0, stderr: `Restored 1 task to ${to}.\n` };
  expect(await runCli(["restore", copy, to])).toMatchObject(restored);
  expect(await runCli(["restore", copy, to])).toMatchObject({
    code: 5,
    stderr: `${to} is not empty: name a new or an empty folder.\n`,
  });
});

test("restore says what an earlier version has put into a backup file and this one does not have", async () => {
  const url = "../../../../test/upgrade/backups/version-2.backup";
  const file = fileURLToPath(new URL(url, import.meta.url));
  const to = join(root, "from a file");

  expect(await runCli(["restore", file, to])).toMatchObject({
    code: 0,
    stderr: `Left out: 1 of registry, which this version does not have.\nRestored 10 tasks to ${to}.\n`,
  });
});

test("a line that wrote a file, or backed up a database, ends with the lines that do so now", async () => {
  const folder = await aFolder("nightly");
  const file = join(root, "tasks-2026-01-31.backup");
  const database = "postgres://convoke:secret@db/convoke?schema=two&sslmode=require";

  expect(await runCli(["backup", folder, file])).toEqual({
    code: 5,
    stdout: "",
    stderr: `A backup is a folder now, so its name does not end in .backup. Old backups are only deleted after a new one. Write instead:
  convoke backup ${folder} ${root}/tasks-2026-01-31 &&
    find ${root} -maxdepth 1 -name 'tasks-*' -mtime +14 -exec rm -r {} +
`,
  });
  const instead = `A database is backed up by its own tools, and after it the folder that CONVOKE_FILES names, if there is one. Write instead:
  pg_dump --format=custom --schema='two*' --file=${root}/tasks-2026-01-31.dump 'postgres://convoke@db/convoke?sslmode=require'
  rsync --archive "$CONVOKE_FILES/" ${root}/files/
`;
  expect(await runCli(["backup", database, file])).toEqual({
    code: 5,
    stdout: "",
    stderr: instead,
  });
  expect(await runCli(["restore", "/srv/a.backup", database])).toMatchObject({
    code: 5,
    stderr: expect.stringMatching(
      /\n {2}convoke restore \/srv\/a.backup \.\/restored\n {2}convoke migrate/,
    ),
  });
  for (const [args, what] of [
    [["backup", database, file, "--files", "/srv/files"], "copy the folder of the files"],
    [["migrate", "--undo", folder], "delete its transfer.json"],
  ] as const) {
    const { code, stderr } = await runCli(args);
    expect(code).toBe(5);
    expect(stderr).toContain(what);
  }
  expect(existsSync(file)).toBe(false);
});

test.each([
  [["migrate"], "Name a data folder, and then the address of an empty database."],
  [["migrate", "a", "b"], "Tasks do not move in another direction."],
  [["migrate", "postgres://db/convoke", "a"], "Tasks do not move in another direction."],
  [["backup", "a"], "Name what to back up, and then the folder to create."],
  [["restore", "a", "b", "c"], "Name the backup, and then the folder to restore it to."],
])("%j is rejected with what is missing", async (args, problem) => {
  const { code, stderr } = await runCli(args);

  expect(code).toBe(2);
  expect(stderr).toContain(problem);
});

test.each([
  [["migrate", "/nowhere", "postgres://localhost/x"], "There are no tasks in /nowhere"],
  [["backup", "/nowhere", "copy"], "There are no tasks in /nowhere"],
  [["restore", "/nowhere", "to"], "There is no backup /nowhere."],
])("%j says why it is not possible", async (args, problem) => {
  const { code, stderr } = await runCli(args);

  expect(code).toBe(5);
  expect(stderr).toContain(problem);
});

test("migrate says why a database cannot be used, without a password", async () => {
  const folder = await aFolder("kept");

  const { code, stderr } = await runCli(["migrate", folder, "postgres://u:secret@127.0.0.1:1/x"]);

  expect(code).toBe(5);
  expect(stderr).toContain("127.0.0.1:1/x does not answer");
  expect(stderr).not.toContain("secret");
  await (await openSqliteBackend({ folder })).close();
});
