import { createJsonLogger } from "@convoke/engine";
import { connect } from "@convoke/client";
import { defineAgent, tool } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { bearer } from "@convoke/server";
import { expect, onTestFinished, test } from "vitest";
import { serve } from "../host/serve-agent.ts";
import { runCli } from "./testing/run-cli.suite.ts";

/** A server with a task of ann that waits for an approval, and a command line for each caller. */
async function aTaskOfAnn() {
  const guarded = tool({
    name: "delete",
    description: "Deletes.",
    confirm: "ask",
    run: () => "deleted",
  });
  const model = scriptedModel([{ kind: "tool-call", toolName: "delete", input: {} }, "Done."]);
  const about = { name: "Thinker", description: "Thinks.", model };
  const server = await serve(defineAgent({ ...about, tools: [guarded] }), {
    port: 0,
    data: "memory",
    logger: createJsonLogger("silent", () => undefined),
    push: { allow: ["127.0.0.1"] },
    roles: { approversActForOthers: true },
    auth: [
      bearer("ann", { owner: "ann" }),
      bearer("ops", { owner: "ops", scopes: ["convoke:operate", "convoke:approve"] }),
    ],
  });
  onTestFinished(() => server.close());
  const ann = await connect(server.url, { auth: { bearer: "ann" } });
  const { task } = await ann.send("delete it");
  await ann.push.set(task!.id, { url: "http://127.0.0.1:9/hook" });
  const run = (words: string, token: string) =>
    runCli([...words.replace("<url>", server.url).split(" "), "--token", token]);
  return { taskId: task!.id, run };
}

test("an operator lists and shows the tasks, approvals and pushes of all owners", async () => {
  const { taskId, run } = await aTaskOfAnn();

  const own = await run("tasks <url>", "ops");
  const tasks = await run("tasks <url> --owner * --state input-required --limit 1", "ops");
  const shown = await run(`tasks show <url> ${taskId} --owner *`, "ops");
  const approvals = await run("approvals list <url> --owner *", "ops");
  const pushes = await run("push list <url> --owner * --state active", "ops");

  expect(own.stderr).toContain("No tasks.");
  expect(tasks.stdout).toMatch(
    new RegExp(`TASK +STATE +AGE +OWNER +AGENT\n${taskId} +input-required +\\d+s +ann +Thinker\n`),
  );
  expect(tasks.stderr).toContain(`${taskId} --owner '*'`);
  expect(shown.stdout).toContain(`${taskId} input-required`);
  expect(shown.stdout).toContain("owner ann\nuser: delete it\n");
  expect(approvals.stdout).toMatch(/OWNER\n.*ann\n/);
  expect(approvals.stderr).toContain("--owner '*' --approve");
  expect(pushes.stdout).toMatch(/OWNER\n.*ann\n/);
});

test("an approver decides for another owner with --owner '*'", async () => {
  const { taskId, run } = await aTaskOfAnn();
  const { stdout } = await run("approvals list <url> --owner * --json", "ops");
  const { approvals } = JSON.parse(stdout) as { approvals: readonly { id: string }[] };

  const { code } = await run(
    `approvals answer <url> ${approvals[0]!.id} --owner * --approve`,
    "ops",
  );

  expect(code).toBe(0);
  await expect
    .poll(async () => (await run(`tasks show <url> ${taskId}`, "ann")).stdout, { timeout: 20_000 })
    .toContain("completed");
});

test("without the role the error says so, and an unknown task is an unknown task", async () => {
  const { taskId, run } = await aTaskOfAnn();

  const denied = await run(`tasks show <url> ${taskId} --owner *`, "ann");
  const unknown = await run("tasks show <url> nothing --owner *", "ops");
  const wrong = await run("tasks <url> --owner ann", "ops");

  expect(denied.stderr).toContain("Insufficient permissions for operation 'getTask'");
  expect(unknown.stderr).toContain("there is no task nothing");
  expect(wrong.stderr).toContain("--owner must be '*'");
});
