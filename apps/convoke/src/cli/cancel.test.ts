import { expect, test } from "vitest";
import { runCli } from "./testing/run-cli.suite.ts";
import { beginTask, serveDemo } from "./testing/serve-demo.suite.ts";

test("a task is canceled, and reported as canceled", async () => {
  const { url, agent } = await serveDemo();
  const taskId = await beginTask(agent, "slow 1000");

  const finished = await runCli(["cancel", url, taskId]);

  expect(finished).toEqual({ code: 0, stdout: "", stderr: `task ${taskId} canceled\n` });
  expect((await agent.get(taskId)).status.state).toBe("canceled");
});

test("--json prints the task", async () => {
  const { url, agent } = await serveDemo();
  const taskId = await beginTask(agent, "ask");

  const { code, stdout } = await runCli(["cancel", url, taskId, "--json"]);

  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ id: taskId, status: { state: "canceled" } });
});

test("an ended task cannot be canceled: exit code 3, with the agent's text", async () => {
  const { url, agent } = await serveDemo();
  const { task } = await agent.send("hello");

  const { code, stderr } = await runCli(["cancel", url, String(task?.id)]);

  expect(code).toBe(3);
  expect(stderr).toContain("(code -32002)");
});

test("without a task id nothing is canceled", async () => {
  const { code, stderr } = await runCli(["cancel", "http://127.0.0.1:1"]);

  expect(code).toBe(2);
  expect(stderr).toContain("The task id is missing; convoke tasks <url> lists your tasks.");
});
