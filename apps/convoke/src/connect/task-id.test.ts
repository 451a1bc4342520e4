import { expect, test } from "vitest";
import { json, pagesV1, result, runCli, startFakeAgent } from "../cli/testing/run-cli.suite.ts";
import { beginTask, serveDemo } from "../cli/testing/serve-demo.suite.ts";

test("a unique prefix of an id is enough for every command", async () => {
  const { url, agent } = await serveDemo();
  const taskId = await beginTask(agent, "ask");
  // Ids start with the time, and differ only towards their end.
  const short = taskId.slice(0, -1);

  const shown = await runCli(["push", "show", url, short, "--json"]);
  const answered = await runCli(["send", url, "Ann", "--task", short]);
  const watched = await runCli(["tasks", url, short, "--watch"]);
  const gone = await runCli(["cancel", url, short]);

  expect(shown).toMatchObject({ code: 0, stdout: '{"configs":[]}\n' });
  expect(answered).toMatchObject({ code: 0, stdout: "Hello, Ann!\n" });
  expect(watched.stdout).toContain("Hello, Ann!");
  expect(gone.stderr).toContain("cannot be canceled");
});

test("an ambiguous prefix lists the tasks, and calls none of them", async () => {
  const ids = ["abcdef-1", "abcdef-2", "other-1"];
  const tasks = ids.map((id) => ({ id, contextId: "c", status: { state: "TASK_STATE_WORKING" } }));
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) =>
      call.method === "ListTasks"
        ? result(call, { tasks, nextPageToken: "", pageSize: 100, totalSize: 3 })
        : json({ jsonrpc: "2.0", id: call.id, error: { code: -32001, message: "not found" } }),
  });

  const { code, stderr } = await runCli(["cancel", agent.url, "abcdef"]);

  expect(code).toBe(2);
  expect(stderr).toContain('"abcdef" is the beginning of 2 tasks: abcdef-1, abcdef-2.');
  expect(agent.seen.map(({ call }) => call?.method)).not.toContain("CancelTask");
  expect((await runCli(["cancel", agent.url, "missing"])).stderr).toContain("not found");
});
