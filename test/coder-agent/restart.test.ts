import { EXTENSIONS, type Task } from "@convoke/protocol";
import { scriptedModel } from "@convoke/runtime/testing";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";
import { calls } from "../loop/scripts.ts";
import { aFolder, inContext, startCoder } from "./a-coder.ts";

const APPROVALS = EXTENSIONS.approvals.uri;

test("sessions are listed and continued after a restart, in their mode", async () => {
  const folder = aFolder({ "a.txt": "a" });
  const first = await startCoder(folder);
  await first.client.send(inContext("talk", "list"));
  await first.client.send(inContext("talk", "/mode plan"));
  await first.close();

  const { client } = await startCoder(folder);
  const { json } = await client.post("/executeCommand", { command: "sessions list" });
  const task = await client.send(inContext("talk", "/mode"));

  expect((json as { data: readonly object[] }).data).toMatchObject([{ contextId: "talk" }]);
  expect(JSON.stringify(task)).toContain("The mode is plan.");
});

test("a mode that the operator no longer allows is replaced by the mode of the policy", async () => {
  const folder = aFolder({ "a.txt": "a" });
  const first = await startCoder(folder, { policy: { mode: "ask", maxMode: "full" } });
  const chosen = await first.client.send(inContext("talk", "/mode full"));
  expect(JSON.stringify(chosen)).toContain("The mode is full.");
  await first.close();

  const model = scriptedModel([calls("delete_file", { path: "a.txt" })]);
  const policy = { mode: "ask", maxMode: "auto-edit" } as const;
  const { client } = await startCoder(folder, { model, policy });
  const asked = await client.send(inContext("talk", "delete it"));

  expect(JSON.stringify(await client.send(inContext("talk", "/mode")))).toContain("mode is ask.");
  expect(asked.status.state).toBe("input-required");
  expect(existsSync(join(folder.root, "a.txt"))).toBe(true);
});

test("what a caller approved for always runs after a restart without a question, except commands", async () => {
  const folder = aFolder();
  const write = (path: string) => calls("write_file", { path, content: "x" });
  const model = scriptedModel([write("a.txt"), "Done."]);
  const first = await startCoder(folder, { model });
  const client = first.client.activating(APPROVALS);
  const asked = await client.send(inContext("one", "write"));
  const parts = [answerTo(openApprovals(asked)[0]!, { option: "always" })];
  expect((await client.send({ taskId: asked.id, parts })).status.state).toBe("completed");
  await first.close();
  // Even if a command were among them.
  const [stored] = globSync(join(folder.data, "coder/*/grants/*.json"));
  expect(JSON.parse(readFileSync(stored!, "utf8"))).toEqual(["write_file"]);
  writeFileSync(stored!, JSON.stringify(["write_file", "run_shell"]));

  const later = scriptedModel([
    [write("b.txt"), calls("run_shell", { command: "touch c.txt" })],
    write("d.txt"),
  ]);
  const second = await startCoder(folder, { model: later });
  const restarted = second.client.activating(APPROVALS);
  const next = await restarted.send(inContext("two", "write"));

  expect(existsSync(join(folder.root, "b.txt"))).toBe(true);
  expect(approvalsIn(next)).toEqual([["run_shell", ["once", "reject", "edit"]]]);

  await restarted.send(inContext("three", "/approvals forget"));
  expect(approvalsIn(await restarted.send(inContext("four", "write")))).toMatchObject([
    ["write_file", expect.anything()],
  ]);
});

function approvalsIn(task: Task): readonly (readonly [string, readonly string[]])[] {
  return openApprovals(task).map(({ tool, options }) => [tool.name, options]);
}
