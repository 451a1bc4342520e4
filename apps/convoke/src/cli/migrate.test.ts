import { openSqliteBackend } from "@convoke/backends/sqlite";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

test("migrate moves a folder to a database, serve on the folder then names the database, and --undo frees it", async () => {
  const [folder, url] = [await aFolder("moved"), await address()];

  expect(await runCli(["migrate", folder, url])).toEqual({
    code: 0,
    stdout: "",
    stderr: "Moved and compared 1 task. Serve them from there from now on.\n",
  });
  const refused = await runCli(["serve", "--port", "0", "--data", folder]);
  expect(refused.code).toBe(5);
  expect(refused.stderr).toMatch(
    /^The data folder \S+ was moved to postgres:\/\/localhost\/postgres\?schema=\w+\. Serve that,/,
  );
  expect(await runCli(["migrate", folder, url])).toMatchObject({
    code: 5,
    stderr: `${folder} was moved already.\n`,
  });

  const undone = { code: 0, stderr: "It can be used again, as it was before.\n" };
  expect(await runCli(["migrate", "--undo", folder])).toMatchObject(undone);
  const twice = await runCli(["migrate", "--undo", folder]);
  expect(twice.stderr).toBe("It was not moved.\n");
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
    "Moved and compared 1 task. Serve them from there from now on.",
  ]);
});

test("backup writes a file, and restore fills an empty folder with it", async () => {
  const [folder, file, to] = [await aFolder("served"), join(root, "b"), join(root, "restored")];
  const server = await openSqliteBackend({ folder });

  const written = await runCli(["backup", folder, file]);
  await server.close();
  expect(written).toEqual({ code: 0, stdout: "", stderr: `Wrote 1 task to ${file}.\n` });
  const restored = { code: 0, stderr: "Restored 1 task.\n" };
  expect(await runCli(["restore", file, to])).toMatchObject(restored);
  expect(await runCli(["restore", file, to])).toMatchObject({
    code: 5,
    stderr: `${to} has tasks already: name an empty place.\n`,
  });
});

test.each([
  [["migrate"], "Name the data folder or the address of the database."],
  [["migrate", "a"], "Name what to move, and then where to"],
  [["migrate", "--undo", "a", "b"], '"b" is an unexpected argument.'],
  [["backup", "a"], "Name what to back up, and then the file to write."],
  [["restore", "a", "b", "c"], "Name the backup, and then the folder or address"],
])("%j is rejected with what is missing", async (args, problem) => {
  const { code, stderr } = await runCli(args);

  expect(code).toBe(2);
  expect(stderr).toContain(problem);
});

test.each([
  [["migrate", "/nowhere", "postgres://localhost/x"], "There are no tasks in /nowhere"],
  [["backup", "postgres://u:secret@127.0.0.1:1/x", "f"], "127.0.0.1:1/x does not answer"],
  [["restore", "/nowhere", "to"], "There is no file /nowhere."],
])("%j says why it is not possible, without a password", async (args, problem) => {
  const { code, stderr } = await runCli(args);

  expect(code).toBe(5);
  expect(stderr).toContain(problem);
  expect(stderr).not.toContain("secret");
});
