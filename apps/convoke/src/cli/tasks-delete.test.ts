import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "@convoke/client";
import { createJsonLogger } from "@convoke/engine";
import { bearer } from "@convoke/server";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { demoAgent } from "../host/load-agent.ts";
import { serve } from "../host/serve-agent.ts";
import { runCli } from "./testing/run-cli.suite.ts";

/** A server on a data folder with tasks of ann and bob. It is closed before the last test. */
let folder: string;
let url: string;
let stop: () => Promise<void>;
const audited: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "convoke-delete-"));
  const logger = createJsonLogger("info", (line) => {
    if (line.includes('"audit":true')) audited.push(line);
  });
  const server = await serve(demoAgent, {
    port: 0,
    data: join(folder, "data"),
    logger,
    auth: [
      bearer("ann", { owner: "ann", scopes: [] }),
      bearer("bob", { owner: "bob", scopes: [] }),
      bearer("ops", { owner: "ops", scopes: ["convoke:operate"] }),
    ],
  });
  stop = () => server.close();
  ({ url } = server);
});

afterAll(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

async function taskOf(owner: string, text = "hello"): Promise<string> {
  const agent = await connect(url, { auth: { bearer: owner } });
  return (await agent.send(text)).task!.id;
}

const run = (token: string, ...args: readonly string[]) =>
  runCli(["tasks", "delete", url, ...args, "--token", token]);

async function idsOf(owner: string): Promise<readonly string[]> {
  const { stdout } = await runCli(["tasks", url, "--json", "--token", owner]);
  return (JSON.parse(stdout) as { tasks: readonly { id: string }[] }).tasks.map(({ id }) => id);
}

test("a caller deletes an own task, and nobody else's", async () => {
  const [own, other] = [await taskOf("ann"), await taskOf("bob")];

  const finished = await run("ann", own, "--yes");
  const foreign = await run("ann", other, "--yes");

  expect(finished).toEqual({ code: 0, stdout: "", stderr: "Deleted 1 task.\n" });
  expect(foreign.code).toBe(2);
  expect(foreign.stderr).toContain(`There is no task ${other}.`);
  expect(await idsOf("ann")).not.toContain(own);
  expect(await idsOf("bob")).toContain(other);
  expect(audited.findLast((line) => line.includes("task.deleted"))).toContain(own);
});

test("nothing is deleted without a confirmation, or with --dry-run", async () => {
  const taskId = await taskOf("ann");

  const unconfirmed = await run("ann", taskId);
  const dry = await run("ann", "--state", "completed", "--dry-run");

  expect(unconfirmed.code).toBe(2);
  expect(unconfirmed.stderr).toContain("Delete 1 task for good? Confirm it with --yes.");
  expect(dry.stdout).toContain(`${taskId}  completed`);
  expect(dry.stderr).toContain("would be deleted.");
  expect(await idsOf("ann")).toContain(taskId);
});

test("an unfinished task is rejected with the reason, and deleted with --cancel", async () => {
  const taskId = await taskOf("ann", "ask");

  const refused = await run("ann", taskId, "--yes");
  const filtered = await run("ann", "--state", "input-required", "--yes");
  expect(refused.code).toBe(3);
  expect(refused.stderr).toContain(`${taskId}, which is input-required: cancel it first`);
  expect(filtered.stderr).toContain("1 task unfinished, and not deleted without --cancel.");
  expect(await idsOf("ann")).toContain(taskId);

  expect((await run("ann", taskId, "--cancel", "--yes")).code).toBe(0);
  expect(await idsOf("ann")).not.toContain(taskId);
});

test("an operator deletes old tasks of another owner, which is on record", async () => {
  const [first, second] = [await taskOf("bob"), await taskOf("ann")];

  const early = await run("ops", "--owner", "bob", "--before", "2001-01-01", "--yes");
  const finished = await run("ops", "--owner", "bob", "--before", "2999-01-01", "--yes", "--json");
  const denied = await run("ann", "--owner", "bob", "--yes");

  expect(early.stderr).toContain("There is no such task.");
  expect(JSON.parse(finished.stdout)).toEqual({ deleted: expect.arrayContaining([first]) });
  expect(denied.stderr).toContain("Insufficient permissions for operation 'listTasks'");
  expect(await idsOf("bob")).toEqual([]);
  expect(await idsOf("ann")).toContain(second);
  const entry = JSON.parse(audited.findLast((line) => line.includes("task.deleted"))!) as object;
  expect(entry).toMatchObject({ owner: "ops", taskIds: expect.arrayContaining([first]) });
});

test("tasks in the data folder of a stopped server are deleted with --data", async () => {
  const asking = await taskOf("bob", "ask");
  await stop();
  const data = ["--data", join(folder, "data")];

  const refused = await runCli(["tasks", "delete", asking, ...data, "--yes"]);
  const finished = await runCli(["tasks", "delete", ...data, "--owner", "*", "--cancel", "--yes"]);
  const left = await runCli(["tasks", "delete", ...data, "--owner", "*", "--dry-run"]);

  expect(refused.code).toBe(5);
  expect(refused.stderr).toContain("cancel it first");
  expect(finished.stderr).toMatch(/Deleted \d tasks\./);
  expect(left.stderr).toContain("0 tasks would be deleted.");
});

describe("in a database that a server uses", () => {
  const address = needsPostgres();

  test("ended tasks are deleted with --data, and an erasure is done by the server", async () => {
    const database = await address();
    const logger = createJsonLogger("silent", () => undefined);
    const retention = { everyMs: 100 };
    const server = await serve(demoAgent, { port: 0, database, logger, retention });
    onTestFinished(() => server.close());
    const agent = await connect(server.url);
    const [ended, asking] = [await agent.send("hello"), await agent.send("ask")];
    const data = ["--data", database, "--yes"];

    const deleted = await runCli(["tasks", "delete", ended.task!.id, ...data]);
    const refused = await runCli(["tasks", "delete", asking.task!.id, "--cancel", ...data]);
    const left = (await agent.list()).tasks.map(({ id }) => id);
    const erased = await runCli(["erase", "--owner", "anonymous", ...data]);

    expect(deleted.stderr).toBe("Deleted 1 task.\n");
    expect(refused.stderr).toContain("cancel tasks through a server that uses it");
    expect(left).toEqual([asking.task!.id]);
    expect(erased.code).toBe(0);
    const isEmpty = async () => (await agent.list()).tasks.length === 0;
    await vi.waitUntil(isEmpty, { timeout: 20_000, interval: 100 });
  });
});
