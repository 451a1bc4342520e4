import { expect, test } from "vitest";
import { pagesV03, pagesV1, result, runCli, startFakeAgent } from "./testing/run-cli.suite.ts";

const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const page = {
  tasks: [
    {
      id: "0198f3c2-a",
      contextId: "c1",
      status: { state: "TASK_STATE_WORKING", timestamp: ago(5 * 60_000) },
      history: [{ messageId: "m1", role: "ROLE_USER", parts: [{ text: "slow\n20" }] }],
    },
    {
      id: "t2",
      contextId: "c1",
      status: { state: "TASK_STATE_INPUT_REQUIRED", timestamp: ago(3 * 24 * 3_600_000) },
    },
    { id: "t3", status: { state: "TASK_STATE_NEW_IN_2_0" } },
  ],
  nextPageToken: "more",
  pageSize: 3,
  totalSize: 9,
};

test("tasks are shown as a table", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => result(call, page),
  });

  const args = ["--context", "c1", "--state", "working", "--limit", "3"];
  const finished = await runCli(["tasks", agent.url, ...args]);

  expect(finished).toEqual({
    code: 0,
    stdout: `TASK        STATE           AGE  FIRST WORDS
0198f3c2-a  working         5m   slow 20
t2          input-required  3d
t3          unknown         ?
`,
    stderr:
      "The newest 3 of 9. Use --limit for more.\n" +
      `Follow one with: convoke tasks ${agent.url} 0198f3c2-a --watch\n`,
  });
  expect(agent.last.call).toMatchObject({
    method: "ListTasks",
    params: { contextId: "c1", status: "TASK_STATE_WORKING", pageSize: 3 },
  });
});

test("an empty list is a sentence at a terminal and an empty table in a pipe", async () => {
  const empty = { tasks: [], nextPageToken: "", pageSize: 20, totalSize: 0 };
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => result(call, empty),
  });

  expect(await runCli(["tasks", agent.url])).toEqual({
    code: 0,
    stdout: "",
    stderr: "No tasks.\n",
  });
  expect(JSON.parse((await runCli(["tasks", agent.url, "--json"])).stdout)).toEqual(empty);
});

test("a 0.3 agent cannot list tasks, and the error says what can", async () => {
  const agent = await startFakeAgent({ pages: pagesV03() });

  const { code, stderr } = await runCli(["tasks", agent.url]);

  expect(code).toBe(3);
  expect(stderr).toContain("Listing tasks needs A2A 1.0");
});
