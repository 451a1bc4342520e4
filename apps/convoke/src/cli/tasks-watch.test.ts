import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import {
  type Call,
  events,
  failure,
  pagesV03,
  pagesV1,
  result,
  runCli,
  startFakeAgent,
} from "./testing/run-cli.suite.ts";
import { beginTask, serveDemo } from "./testing/serve-demo.suite.ts";

describe("on a Convoke server", () => {
  test("a task is shown with its earlier messages, and its text", async () => {
    const { url, agent } = await serveDemo();
    // Long enough that it has not ended when it is watched, on a busy machine, too.
    const taskId = await beginTask(agent, "slow 150");

    const { code, stdout, stderr } = await runCli(["tasks", url, taskId, "--watch"]);

    expect(code).toBe(0);
    expect(stdout).toBe(`${Array.from({ length: 150 }, (_, place) => place + 1).join(" ")}\n`);
    expect(stderr).toMatch(/^you: slow 150\n/);
    expect(stderr).toContain("150 chunks are coming.");
    expect(stderr).toMatch(new RegExp(`task ${taskId} completed\n$`));
  });

  test("an ended task is shown with its answer", async () => {
    const { url, agent } = await serveDemo();
    const { task, text } = await agent.send("hello");

    expect(await runCli(["tasks", url, String(task?.id), "--watch"])).toEqual({
      code: 0,
      stdout: `${text}\n`,
      stderr: `you: hello\ntask ${task?.id} completed\n`,
    });
  });

  test("a failed task is exit code 1", async () => {
    const { url, agent } = await serveDemo();
    const { task } = await agent.send("fail");

    const { code, stderr } = await runCli(["tasks", url, String(task?.id), "--watch"]);

    expect(code).toBe(1);
    expect(stderr).toContain(`task ${task?.id} failed: It failed, as you asked.\n`);
  });

  test("a question is shown, and the task is watched until it is answered", async () => {
    const { url, agent } = await serveDemo();
    const { task } = await agent.send("ask");
    const taskId = String(task?.id);
    const asked = Promise.withResolvers<void>();

    const watching = runCli(["tasks", url, taskId, "--watch"], {
      onStderr: (text) => text.startsWith("Answer with:") && asked.resolve(),
    });
    await asked.promise;
    await agent.send("Ann", { taskId });

    const { code, stdout, stderr } = await watching;
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Hello, Ann!\n" });
    expect(stderr).toContain(
      `What is your name?\nAnswer with: convoke send ${url} --task ${taskId} 'your answer'\n`,
    );
  });

  test("without a task id the newest unfinished one is watched, even behind ended ones", async () => {
    const { url, agent } = await serveDemo();
    const earlier = await agent.send("ask");
    await sleep(5);
    const newest = await agent.send("ask");
    await agent.send("fail");
    const controller = new AbortController();

    const { code, stderr } = await runCli(["tasks", url, "--watch"], {
      signal: controller.signal,
      onStderr: (text) => text.startsWith("Answer with:") && controller.abort(),
    });

    expect(code).toBe(130);
    expect(stderr).toContain(`task ${newest.task?.id} input-required\n`);
    expect(stderr).not.toContain(earlier.task?.id);
  });

  test("if every task has ended, this is reported", async () => {
    const { url, agent } = await serveDemo();
    await agent.send("hello");

    expect(await runCli(["tasks", url, "--watch"])).toEqual({
      code: 0,
      stdout: "",
      stderr: `You have no unfinished task. List the others with: convoke tasks ${url}\n`,
    });
  });

  test("an unknown task is exit code 3, with where to look", async () => {
    const { url } = await serveDemo();

    const { code, stdout, stderr } = await runCli(["tasks", url, "t9", "--watch"]);

    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toMatch(/t9.*\(code -32001\)\nconvoke tasks <url> lists/);
  });

  test("--json prints one event per line, with the id that resumes after it", async () => {
    const { url, agent } = await serveDemo();
    const taskId = await beginTask(agent, "slow 50");

    const { code, stdout, stderr } = await runCli(["tasks", url, taskId, "--json", "--watch"]);

    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.trimEnd().split("\n");
    const shown = lines.map((line) => JSON.parse(line) as { id: string; event: object });
    expect(shown[0]).toMatchObject({ id: expect.any(String), event: { kind: "task", id: taskId } });
    expect(shown.at(-1)).toMatchObject({ event: { status: { state: "completed" } } });
  });
});

describe("on other servers", () => {
  const task = (state: string) => ({
    task: { id: "t1", contextId: "c1", status: { state: `TASK_STATE_${state}` } },
  });
  const chunk = (text: string) => ({
    artifactUpdate: {
      taskId: "t1",
      contextId: "c1",
      artifact: { artifactId: "a1", parts: [{ text }] },
    },
  });
  const agentThat = (frames: readonly object[], end: "properly" | "never" | "broken") =>
    startFakeAgent({ pages: pagesV1(), answer: (call: Call) => events(call, frames, end) });

  test("a lost connection is exit code 3, with the command that resumes it", async () => {
    const agent = await agentThat([task("WORKING"), chunk("Hel")], "broken");

    const args = ["tasks", agent.url, "t1", "--reconnect", "0", "--watch"];

    const { code, stdout, stderr } = await runCli(args);

    expect({ code, stdout }).toEqual({ code: 3, stdout: "Hel" });
    expect(stderr).toContain("was lost");
    expect(stderr).toContain(`Resume with: convoke stream ${agent.url} --resume t1 --after 2\n`);
  });

  test("Ctrl+C is exit code 130, with the command that resumes it", async () => {
    const agent = await agentThat([task("WORKING"), chunk("Hel")], "never");
    const controller = new AbortController();

    const { code, stderr } = await runCli(["tasks", agent.url, "t1", "--watch"], {
      isTerminal: true,
      signal: controller.signal,
      onStdout: () => setImmediate(() => controller.abort()),
    });

    expect(code).toBe(130);
    expect(stderr).toContain("--resume t1 --after 2\n");
  });

  test("one that ends the stream at a question shows it once, with exit code 4", async () => {
    const agent = await agentThat([task("INPUT_REQUIRED")], "properly");

    expect(await runCli(["tasks", agent.url, "t1", "--watch"])).toEqual({
      code: 4,
      stdout: "",
      stderr:
        "task t1 input-required\nThe agent is waiting for your answer.\n" +
        `Answer with: convoke send ${agent.url} --task t1 'your answer'\n`,
    });
  });

  test("one that rejects subscriptions is polled", async () => {
    let looks = 0;
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: (call) =>
        call.method === "GetTask"
          ? result(call, task(++looks === 1 ? "WORKING" : "COMPLETED").task)
          : failure(call, { code: -32004, message: "no streaming here" }),
    });

    const { code, stderr } = await runCli(["tasks", agent.url, "t1", "--watch"]);

    expect(code).toBe(0);
    expect(stderr).toContain("does not stream; its task is polled");
    expect(stderr).toContain("task t1 completed\n");
  });

  test("a 0.3 agent cannot be asked for the newest task", async () => {
    const agent = await startFakeAgent({ pages: pagesV03() });

    const { code, stderr } = await runCli(["tasks", agent.url, "--watch"]);

    expect(code).toBe(3);
    expect(stderr).toContain("Listing tasks needs A2A 1.0");
  });
});
