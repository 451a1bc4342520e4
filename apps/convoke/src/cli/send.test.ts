import { expect, test } from "vitest";
import {
  type Call,
  failure,
  json,
  pagesV03,
  pagesV1,
  result,
  runCli,
  startFakeAgent,
} from "./testing/run-cli.suite.ts";

const message = (text: string) => ({ messageId: "m2", role: "ROLE_AGENT", parts: [{ text }] });
const task = (state: string, more: object = {}) => ({
  task: { id: "t1", contextId: "c1", status: { state: `TASK_STATE_${state}` }, ...more },
});
const waiting = (state: string, text: string) => ({
  task: {
    id: "t1",
    contextId: "c1",
    status: { state: `TASK_STATE_${state}`, message: message(text) },
  },
});
const agentThat = (answer: object) =>
  startFakeAgent({ pages: pagesV1(), answer: (call: Call) => result(call, answer) });

test("the answer goes to stdout and the task to stderr", async () => {
  const artifacts = [{ artifactId: "a1", parts: [{ text: "Hello, Ann!" }] }];
  const agent = await agentThat(task("COMPLETED", { artifacts }));

  const finished = await runCli(["send", agent.url, "Ann", "--context", "c1"]);

  expect(finished).toEqual({ code: 0, stdout: "Hello, Ann!\n", stderr: "task t1 completed\n" });
  expect(agent.last.call?.params["message"]).toMatchObject({
    contextId: "c1",
    parts: [{ text: "Ann" }],
  });
});

test("a message without a task is an answer too", async () => {
  const agent = await agentThat({ message: message("Hi") });

  expect(await runCli(["send", agent.url, "Ann"])).toEqual({
    code: 0,
    stdout: "Hi\n",
    stderr: "a message, without a task\n",
  });
});

test("files and data are summarised", async () => {
  const artifacts = [
    {
      artifactId: "a1",
      name: "receipt",
      parts: [
        { raw: "AAAA", filename: "r.pdf", mediaType: "application/pdf" },
        { url: "https://files.example/r.pdf" },
        { data: { id: 7 } },
      ],
    },
  ];
  const agent = await agentThat(task("COMPLETED", { artifacts }));

  expect(await runCli(["send", agent.url, "artifact"])).toEqual({
    code: 0,
    stdout: "",
    stderr:
      "artifact receipt: file r.pdf application/pdf 3 B\n" +
      "artifact receipt: file https://files.example/r.pdf\n" +
      'artifact receipt: data {"id":7}\n' +
      "task t1 completed\n",
  });
});

test("a question is exit code 4, with the command line that answers it", async () => {
  const agent = await agentThat(waiting("INPUT_REQUIRED", "Refund 12?"));

  const finished = await runCli(["send", agent.url, "order 7", "--protocol", "1.0"]);

  expect(finished).toEqual({
    code: 4,
    stdout: "",
    stderr:
      "task t1 input-required\nRefund 12?\n" +
      `Answer with: convoke send ${agent.url} --protocol 1.0 --task t1 'your answer'\n`,
  });
});

test("the answer to a question goes to its task", async () => {
  const agent = await agentThat(task("COMPLETED"));

  await runCli(["send", agent.url, "yes", "--task", "t1"]);

  expect(agent.last.call?.params["message"]).toMatchObject({ taskId: "t1" });
});

test("a required authorization is exit code 4", async () => {
  const agent = await agentThat(waiting("AUTH_REQUIRED", "Sign in at https://login.example"));

  const { code, stderr } = await runCli(["send", agent.url, "auth", "--token", "secret"]);

  expect(code).toBe(4);
  expect(stderr).toContain("Sign in at https://login.example\nWhen that is done: convoke send");
  expect(stderr).not.toContain("secret");
});

test.each(["FAILED", "REJECTED", "CANCELED"])(
  "a task that ended %s is exit code 1",
  async (state) => {
    const agent = await agentThat(waiting(state, "not today"));

    expect(await runCli(["send", agent.url, "hi"])).toEqual({
      code: 1,
      stdout: "",
      stderr: `task t1 ${state.toLowerCase()}: not today\n`,
    });
  },
);

test("a task that still works can be followed", async () => {
  const agent = await agentThat(task("WORKING"));

  expect(await runCli(["send", agent.url, "hi"])).toEqual({
    code: 0,
    stdout: "",
    stderr: `task t1 working\nFollow it with: convoke stream ${agent.url} --resume t1\n`,
  });
});

test("a hostile task id is harmless when the suggested line is pasted", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) =>
      result(call, { task: { ...task("WORKING").task, id: "x'; rm -rf ~; '\u001B[2J" } }),
  });

  const { stderr } = await runCli(["send", agent.url, "hi"]);

  expect(stderr).toContain(String.raw`--resume 'x'\''; rm -rf ~; '\''[2J'`);
});

test("--json is one object and nothing else, with the same exit codes", async () => {
  const agent = await agentThat(waiting("INPUT_REQUIRED", "Refund 12?"));

  const { code, stdout, stderr } = await runCli(["send", agent.url, "order 7", "--json"]);

  expect({ code, stderr }).toEqual({ code: 4, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({
    text: "Refund 12?",
    task: { kind: "task", id: "t1", status: { state: "input-required" } },
  });
});

test("0.3 agents are spoken to in 0.3", async () => {
  const agent = await startFakeAgent({
    pages: pagesV03(),
    answer: (call) =>
      result(call, {
        kind: "message",
        messageId: "m2",
        role: "agent",
        parts: [{ kind: "text", text: "Hi" }],
      }),
  });

  expect((await runCli(["send", agent.url, "Ann"])).stdout).toBe("Hi\n");
  expect(agent.last.call?.method).toBe("message/send");
});

test("an error of the agent is exit code 3 in its own words", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => failure(call, { code: -32001, message: "Task not found: t9" }),
  });

  expect(await runCli(["send", agent.url, "hi", "--task", "t9"])).toEqual({
    code: 3,
    stdout: "",
    stderr:
      "The agent answered with an error: Task not found: t9 (code -32001)\n" +
      "convoke tasks <url> lists the tasks that you have there.\n",
  });
});

test("a locked agent asks for a token, which may come from the environment", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call, { headers }) =>
      headers["authorization"] === "Bearer secret"
        ? result(call, task("COMPLETED"))
        : json({ jsonrpc: "2.0", id: null, error: { code: -32603, message: "Unauthorized" } }, 401),
  });

  const refused = await runCli(["send", agent.url, "hi"]);
  const welcome = await runCli(["send", agent.url, "hi"], { env: { CONVOKE_TOKEN: "secret" } });

  expect(refused.code).toBe(3);
  expect(refused.stderr).toContain("pass --token <token>, or set CONVOKE_TOKEN");
  expect(welcome.code).toBe(0);
});

test("Ctrl+C is exit code 130 and no complaint", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: () => ({ body: "{", end: "never" }),
  });

  const finished = await runCli(["send", agent.url, "hi"], { signal: AbortSignal.timeout(50) });

  expect(finished).toEqual({ code: 130, stdout: "", stderr: "" });
});
