import { BEGINS_AGAIN } from "@convoke/client";
import { expect, test } from "vitest";
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

const ids = { taskId: "t1", contextId: "c1" };
const task = (state: string, more: object = {}) => ({
  task: { id: "t1", contextId: "c1", status: { state: `TASK_STATE_${state}` }, ...more },
});
const status = (state: string, text?: string) => ({
  statusUpdate: {
    ...ids,
    status: {
      state: `TASK_STATE_${state}`,
      ...(text !== undefined && {
        message: { messageId: `m-${text}`, role: "ROLE_AGENT", parts: [{ text }] },
      }),
    },
  },
});
const chunk = (text: string, more: object = { append: true }, artifactId = "a1") => ({
  artifactUpdate: { ...ids, artifact: { artifactId, parts: [{ text }] }, ...more },
});
const agentThat = (frames: readonly object[], end?: "properly" | "never" | "broken") =>
  startFakeAgent({ pages: pagesV1(), answer: (call: Call) => events(call, frames, end) });

test("text goes to stdout, as it arrives on a terminal, and as a whole into a pipe; statuses go to stderr", async () => {
  const agent = await agentThat([
    task("SUBMITTED"),
    status("WORKING", "looking"),
    chunk("Hel", {}),
    chunk("lo"),
    status("COMPLETED"),
  ]);
  const line = ["stream", agent.url, "Ann"];
  const typed: string[] = [];
  const piped: string[] = [];

  await runCli(line, { isTerminal: true, onStdout: (text) => typed.push(text) });
  const finished = await runCli(line, { onStdout: (text) => piped.push(text) });

  expect(finished).toEqual({
    code: 0,
    stdout: "Hello\n",
    stderr: "task t1 submitted\nworking: looking\ntask t1 completed\n",
  });
  expect(piped).toEqual(["Hello", "\n"]);
  expect(typed).toEqual(["Hel", "lo", "\n"]);
});

test("into a pipe, an artifact is written as soon as it is complete", async () => {
  const agent = await agentThat(
    [
      task("SUBMITTED"),
      chunk("one ", {}),
      chunk("first", {}, "a2"),
      chunk(" file", { append: true, lastChunk: true }, "a2"),
      chunk("two"),
    ],
    "broken",
  );

  const { code, stdout } = await runCli(["stream", agent.url, "Ann", "--no-reconnect"]);

  // What came of the other one is written at the end, so that --resume can continue it.
  expect(code).toBe(3);
  expect(stdout).toBe("first file\none two");
});

test("artifacts are on separate lines, files and data in a summary", async () => {
  const file = { artifactId: "a3", name: "list", parts: [{ data: [1] }] };
  const agent = await agentThat([
    task("SUBMITTED"),
    chunk("one", {}),
    chunk("two", {}, "a2"),
    { artifactUpdate: { ...ids, artifact: file, lastChunk: true } },
    status("COMPLETED"),
  ]);

  const { stdout, stderr } = await runCli(["stream", agent.url, "Ann"]);

  expect(stdout).toBe("one\ntwo\n");
  expect(stderr).toContain("artifact list: data [1]\n");
});

test("an artifact that begins again is marked as such on a terminal, and is once in a pipe", async () => {
  const agent = await agentThat([
    task("SUBMITTED"),
    chunk("wro", {}),
    chunk("right", {}),
    status("COMPLETED"),
  ]);
  const line = ["stream", agent.url, "Ann"];

  const typed = await runCli(line, { isTerminal: true });
  const piped = await runCli(line);

  expect(typed.stdout).toBe("wro\nright\n");
  expect(typed.stderr).toContain(BEGINS_AGAIN);
  expect(piped.stdout).toBe("right\n");
  expect(piped.stderr).not.toContain(BEGINS_AGAIN);
});

test("an artifact that begins again after it was complete is marked as such in a pipe, too", async () => {
  const agent = await agentThat([
    task("SUBMITTED"),
    chunk("wrong", { lastChunk: true }),
    chunk("right", { lastChunk: true }),
    status("COMPLETED"),
  ]);

  const { stdout, stderr } = await runCli(["stream", agent.url, "Ann"]);

  expect(stdout).toBe("wrong\nright\n");
  expect(stderr).toContain(BEGINS_AGAIN);
});

test("an agent without artifacts answers with its last message", async () => {
  const agent = await agentThat([task("SUBMITTED"), status("COMPLETED", "all done")]);

  expect((await runCli(["stream", agent.url, "Ann"])).stdout).toBe("all done\n");
});

test("a message is the complete answer", async () => {
  const agent = await agentThat([
    { message: { messageId: "m2", role: "ROLE_AGENT", parts: [{ text: "Hi" }] } },
  ]);

  expect(await runCli(["stream", agent.url, "Ann"])).toEqual({
    code: 0,
    stdout: "Hi\n",
    stderr: "",
  });
});

test("a question ends the command, even if the agent keeps the stream open", async () => {
  const agent = await agentThat(
    [task("SUBMITTED"), chunk("So", {}), status("INPUT_REQUIRED", "Yes or no?")],
    "never",
  );

  expect(await runCli(["stream", agent.url, "ask"])).toEqual({
    code: 4,
    stdout: "So\n",
    stderr:
      "task t1 submitted\ntask t1 input-required\nYes or no?\n" +
      `Answer with: convoke send ${agent.url} --task t1 'your answer'\n`,
  });
});

test("an answer is streamed from the question on, without what was seen before", async () => {
  const artifacts = [{ artifactId: "a1", parts: [{ text: "So " }] }];
  const agent = await agentThat([
    task("INPUT_REQUIRED", { artifacts }),
    status("WORKING"),
    chunk("be it."),
    status("COMPLETED"),
  ]);

  const { code, stdout } = await runCli(["stream", agent.url, "yes", "--task", "t1"]);

  expect({ code, stdout }).toEqual({ code: 0, stdout: "be it.\n" });
});

test("a failed task is exit code 1", async () => {
  const agent = await agentThat([
    task("SUBMITTED"),
    chunk("Hel", {}),
    status("FAILED", "it broke"),
  ]);

  expect(await runCli(["stream", agent.url, "fail"])).toEqual({
    code: 1,
    stdout: "Hel\n",
    stderr: "task t1 submitted\ntask t1 failed: it broke\n",
  });
});

test.each(["properly", "broken"] as const)(
  "a stream that ends %s before its task is exit code 3, with the command that resumes it",
  async (end) => {
    const agent = await agentThat([task("SUBMITTED"), status("WORKING"), chunk("Hel", {})], end);

    const args = ["stream", agent.url, "slow 20", "--reconnect", "0"];

    const { code, stdout, stderr } = await runCli(args);

    expect({ code, stdout }).toEqual({ code: 3, stdout: "Hel" });
    expect(stderr).toContain(`Resume with: convoke stream ${agent.url} --resume t1 --after 3\n`);
    expect(stderr).toContain(end === "broken" ? "was lost" : "closed the stream before task t1");
  },
);

test("Ctrl+C is exit code 130, with the command that resumes it", async () => {
  const agent = await agentThat([task("SUBMITTED"), chunk("Hel", {})], "never");
  const controller = new AbortController();

  const { code, stderr } = await runCli(["stream", agent.url, "slow 20"], {
    isTerminal: true,
    signal: controller.signal,
    onStdout: () => setImmediate(() => controller.abort()),
  });

  expect(code).toBe(130);
  expect(stderr).toContain("--resume t1 --after 2\n");
});

test("--resume continues after an event, and --json prints the id of each", async () => {
  const agent = await agentThat([chunk("lo"), status("COMPLETED")]);
  const args = ["stream", agent.url, "--resume", "t1", "--after", "0"];

  const { code, stdout, stderr } = await runCli([...args, "--json"]);

  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(
    stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown),
  ).toMatchObject([
    { id: "1", event: { kind: "artifact-update", taskId: "t1" } },
    { id: "2", event: { kind: "status-update", status: { state: "completed" }, final: true } },
  ]);
  expect(agent.last.headers["last-event-id"]).toBe("0");
  expect(agent.last.call).toMatchObject({ method: "SubscribeToTask", params: { id: "t1" } });
  expect((await runCli(args)).stdout).toBe("lo\n");
});

test("--resume of an ended task shows the task", async () => {
  const artifacts = [{ artifactId: "a1", parts: [{ text: "Hello" }] }];
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) =>
      call.method === "GetTask"
        ? result(call, task("COMPLETED", { artifacts }).task)
        : failure(call, { code: -32004, message: "the task has ended" }),
  });

  expect(await runCli(["stream", agent.url, "--resume", "t1"])).toEqual({
    code: 0,
    stdout: "Hello\n",
    stderr: "task t1 completed\n",
  });
});

test("a 0.3 stream reads the same", async () => {
  const agent = await startFakeAgent({
    pages: pagesV03(),
    answer: (call) =>
      events(call, [
        { kind: "task", id: "t1", contextId: "c1", status: { state: "submitted" } },
        {
          kind: "artifact-update",
          ...ids,
          artifact: { artifactId: "a1", parts: [{ kind: "text", text: "Hello" }] },
        },
        { kind: "status-update", ...ids, status: { state: "completed" }, final: true },
      ]),
  });

  expect(await runCli(["stream", agent.url, "Ann"])).toEqual({
    code: 0,
    stdout: "Hello\n",
    stderr: "task t1 submitted\ntask t1 completed\n",
  });
});

test("on a terminal, an agent's text cannot control it, and statuses are on separate lines", async () => {
  const agent = await agentThat([
    task("SUBMITTED"),
    chunk("Hel\u001B[2J", {}),
    status("WORKING", "still"),
    chunk("lo"),
    status("COMPLETED"),
  ]);

  const { stdout, stderr } = await runCli(["stream", agent.url, "Ann"], {
    isTerminal: true,
    env: { NO_COLOR: "1" },
  });

  expect(stdout).toBe("Hel[2Jlo\n");
  expect(stderr).toBe("task t1 submitted\n\nworking: still\ntask t1 completed\n");
});

test("a rejected stream is exit code 3 with the agent's text", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => failure(call, { code: -32004, message: "no streaming here" }),
  });

  const { code, stderr } = await runCli(["stream", agent.url, "Ann"]);

  expect(code).toBe(3);
  expect(stderr).toBe("The agent answered with an error: no streaming here (code -32004)\n");
});

test("an interrupted stream resumes by itself, and says so", async () => {
  const artifacts = [{ artifactId: "a1", parts: [{ text: "Hel" }] }];
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) =>
      call.method === "SubscribeToTask"
        ? events(call, [task("WORKING", { artifacts }), chunk("lo"), status("COMPLETED")])
        : events(call, [task("SUBMITTED"), chunk("Hel", {})], "broken"),
  });

  const { code, stdout, stderr } = await runCli(["stream", agent.url, "Ann"]);

  expect({ code, stdout }).toEqual({ code: 0, stdout: "Hello\n" });
  expect(stderr).toContain("retrying (1)\n");
});

test.each(["", "soon", "-1"])("--reconnect rejects %j", async (seconds) => {
  const agent = await agentThat([]);

  const { code, stderr } = await runCli(["stream", agent.url, "Ann", `--reconnect=${seconds}`]);

  expect(code).toBe(2);
  expect(stderr).toContain(`--reconnect takes a number of seconds, not "${seconds}"`);
});

test("what was missed while the connection was lost is shown from the whole task", async () => {
  const artifacts = [
    { artifactId: "a1", parts: [{ text: "Hello wor" }] },
    { artifactId: "a2", parts: [{ text: "more" }] },
  ];
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) =>
      call.method === "SubscribeToTask"
        ? events(call, [
            task("WORKING", { artifacts }),
            chunk("!", { append: true }, "a2"),
            status("COMPLETED"),
          ])
        : events(call, [task("SUBMITTED"), chunk("Hel", {})], "broken"),
  });

  const { code, stdout, stderr } = await runCli(["stream", agent.url, "Ann"]);

  expect({ code, stdout }).toEqual({ code: 0, stdout: "Hello wor\nmore!\n" });
  expect(stderr).toContain("came as the whole task");
});

test("an artifact that differs in the whole task is shown again", async () => {
  const artifacts = [{ artifactId: "a1", parts: [{ text: "Good day" }] }];
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) =>
      call.method === "SubscribeToTask"
        ? events(call, [task("WORKING", { artifacts }), status("COMPLETED")])
        : events(call, [task("SUBMITTED"), chunk("Hel", {})], "broken"),
  });

  const { stdout, stderr } = await runCli(["stream", agent.url, "Ann"], { isTerminal: true });

  expect(stdout).toContain("Hel");
  expect(stdout).toContain("Good day\n");
  expect(stderr).toContain(BEGINS_AGAIN);
  expect((await runCli(["stream", agent.url, "Ann"])).stdout).toBe("Good day\n");
});

test("with --json stderr is JSON as well: the interruption, and the command that resumes it", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) =>
      call.method === "SendStreamingMessage"
        ? events(call, [task("SUBMITTED"), chunk("Hel", {})], "broken")
        : failure(call, { code: -32001, message: "gone" }),
  });

  const { code, stderr } = await runCli(["stream", agent.url, "Ann", "--json"]);

  expect(code).toBe(3);
  const lines = stderr.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { notice: { kind: "reconnecting" } },
    { error: { kind: "remote", code: -32001 } },
    { notice: { kind: "unfinished", taskId: "t1", lastEventId: "2" } },
  ]);
});

test("--no-reconnect treats the first loss as the end", async () => {
  const agent = await agentThat([task("SUBMITTED"), chunk("Hel", {})], "broken");

  const { code, stderr } = await runCli(["stream", agent.url, "Ann", "--no-reconnect"]);
  const both = await runCli(["stream", agent.url, "Ann", "--no-reconnect", "--reconnect", "3"]);

  expect(code).toBe(3);
  expect(stderr).not.toContain("retrying");
  expect(agent.seen.filter(({ call }) => call !== undefined)).toHaveLength(1);
  expect(both.stderr).toContain("--no-reconnect cannot be combined with --reconnect or --resend.");
});

test("--resend sends a possibly lost message again, with the same id", async () => {
  let calls = 0;
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) =>
      ++calls === 1
        ? { body: "", end: "broken" }
        : events(call, [
            { message: { messageId: "m2", role: "ROLE_AGENT", parts: [{ text: "Hi" }] } },
          ]),
  });

  const { code, stdout } = await runCli(["stream", agent.url, "Ann", "--resend"]);

  expect({ code, stdout }).toEqual({ code: 0, stdout: "Hi\n" });
  const ids = agent.seen.flatMap(({ call }) =>
    call ? [(call.params["message"] as { messageId: string }).messageId] : [],
  );
  expect(ids).toHaveLength(2);
  expect(new Set(ids).size).toBe(1);
});

test("--resume accepts no files", async () => {
  const args = ["stream", "http://x", "--resume", "t1", "--data", "1"];

  expect((await runCli(args)).stderr).toContain(
    "--resume cannot be combined with --file or --data.",
  );
});
