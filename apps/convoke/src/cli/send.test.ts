import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createJsonLogger } from "@convoke/engine";
import { defineAgent } from "@convoke/runtime";
import { describe, expect, onTestFinished, test } from "vitest";
import { serve } from "../host/serve-agent.ts";
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
import { serveDemo } from "./testing/serve-demo.suite.ts";

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

test("a question is exit code 4, with the command that answers it", async () => {
  const agent = await agentThat(waiting("INPUT_REQUIRED", "Refund 12?"));

  const finished = await runCli(["send", agent.url, "order 7", "--a2a-version", "1.0"]);

  expect(finished).toEqual({
    code: 4,
    stdout: "",
    stderr:
      "task t1 input-required\nRefund 12?\n" +
      `Answer with: convoke send ${agent.url} --a2a-version 1.0 --task t1 'your answer'\n`,
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
  expect(stderr).toContain("Sign in at https://login.example\nOnce that is done: convoke send");
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

test("an agent that responds before it is done is polled until it is", async () => {
  const artifacts = [{ artifactId: "a1", parts: [{ text: "Hello" }] }];
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) =>
      call.method === "GetTask"
        ? result(call, task("COMPLETED", { artifacts }).task)
        : result(call, task("WORKING")),
  });

  expect(await runCli(["send", agent.url, "hi"])).toEqual({
    code: 0,
    stdout: "Hello\n",
    stderr: "task t1 completed\n",
  });
});

test("a hostile task id is harmless when the suggested command is pasted", async () => {
  const id = "x'; rm -rf ~; '\u001B[2J";
  const agent = await agentThat({ task: { ...waiting("INPUT_REQUIRED", "Yes?").task, id } });

  const { stderr } = await runCli(["send", agent.url, "hi"]);

  expect(stderr).toContain(String.raw`--task 'x'\''; rm -rf ~; '\''[2J'`);
});

test("--json prints one object and nothing else, with the same exit codes", async () => {
  const agent = await agentThat(waiting("INPUT_REQUIRED", "Refund 12?"));

  const { code, stdout, stderr } = await runCli(["send", agent.url, "order 7", "--json"]);

  expect({ code, stderr }).toEqual({ code: 4, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({
    text: "Refund 12?",
    task: { kind: "task", id: "t1", status: { state: "input-required" } },
  });
});

test("0.3 agents are called in 0.3", async () => {
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

test("an error of the agent is exit code 3 with its own text", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => failure(call, { code: -32001, message: "Task not found: t9" }),
  });

  expect(await runCli(["send", agent.url, "hi", "--task", "t9"])).toEqual({
    code: 3,
    stdout: "",
    stderr:
      "The agent answered with an error: Task not found: t9 (code -32001)\n" +
      "convoke tasks <url> lists your tasks.\n",
  });
});

test("an agent that requires a token says so, and the token may come from the environment", async () => {
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
  expect(refused.stderr).toContain("convoke login http://127.0.0.1:");
  expect(welcome.code).toBe(0);
});

test("Ctrl+C is exit code 130 without an error message", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: () => ({ body: "{", end: "never" }),
  });

  const finished = await runCli(["send", agent.url, "hi"], { signal: AbortSignal.timeout(50) });

  expect(finished).toEqual({ code: 130, stdout: "", stderr: "" });
});

describe("the message", () => {
  const partsOf = (call: Call | undefined) =>
    (call?.params["message"] as { parts: readonly object[] } | undefined)?.parts;

  function aFile(name: string, content: string): string {
    const folder = mkdtempSync(join(tmpdir(), "convoke-send-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, name);
    writeFileSync(file, content);
    return file;
  }

  test("is read from the pipe if there is no text, or if the text is a dash", async () => {
    const agent = await agentThat({ message: message("Hi") });

    await runCli(["send", agent.url], { stdin: "from a pipe\n\n" });
    expect(partsOf(agent.last.call)).toEqual([{ text: "from a pipe\n" }]);
    await runCli(["send", agent.url, "-"], { stdin: "Grüße\r\n" });
    expect(partsOf(agent.last.call)).toEqual([{ text: "Grüße" }]);
    await runCli(["send", agent.url, "said"], { stdin: "from a pipe\n" });
    expect(partsOf(agent.last.call)).toEqual([{ text: "said" }]);
  });

  test("may have files and data, with the text or without", async () => {
    const agent = await agentThat({ message: message("Hi") });
    const [notes, photo] = [aFile("notes.md", "# Notes"), aFile("a:b", "x")];
    const extras = ["--file", notes, "--file", `${photo}:image/x-raw`, "--data", '{"a":[1]}'];
    const parts = [
      { raw: "IyBOb3Rlcw==", filename: "notes.md", mediaType: "text/markdown" },
      { raw: "eA==", filename: "a:b", mediaType: "image/x-raw" },
      { data: { a: [1] } },
    ];

    await runCli(["send", agent.url, "look", ...extras]);
    expect(partsOf(agent.last.call)).toMatchObject([{ text: "look" }, ...parts]);
    await runCli(["send", agent.url, ...extras], { stdin: "not read" });
    expect(partsOf(agent.last.call)).toMatchObject(parts);
    await runCli(["send", agent.url, "-", ...extras], { stdin: "read" });
    expect(partsOf(agent.last.call)).toMatchObject([{ text: "read" }, ...parts]);
  });

  test.each([
    [["--file", "/no/such"], "", "--file /no/such does not exist."],
    [["--file", "/"], "", "--file / cannot be read (EISDIR)."],
    [["--data", "{a:1}"], "", "--data is not JSON: "],
    [["-"], "", "The text for the agent is missing."],
    [
      [],
      [Uint8Array.of(0xff, 0xfe)],
      "Standard input is not UTF-8 text; send other files with --file",
    ],
  ])("%j is rejected before anything is called", async (args, stdin, problem) => {
    const agent = await agentThat({ message: message("Hi") });

    const { code, stderr } = await runCli(["send", agent.url, ...args], { stdin });

    expect(code).toBe(2);
    expect(stderr).toContain(problem);
    expect(agent.seen).toEqual([]);
  });
});

test("errors are JSON with --json, including usage errors", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => failure(call, { code: -32001, message: "no such task" }),
  });

  const remote = await runCli(["send", agent.url, "hi", "--task", "t9", "--json"]);
  const usage = await runCli(["send", agent.url, "hi", "--jsn", "--json"]);
  const text = await runCli(["send", "--", "--json"]);

  expect(remote).toMatchObject({ code: 3, stdout: "" });
  expect(JSON.parse(remote.stderr)).toMatchObject({
    error: {
      kind: "remote",
      code: -32001,
      message: "no such task",
      reason: "TaskNotFound",
      advice: "convoke tasks <url> lists your tasks.",
    },
  });
  expect(usage).toMatchObject({ code: 2, stdout: "" });
  expect(JSON.parse(usage.stderr)).toEqual({
    error: {
      kind: "usage",
      message: "Unknown option '--jsn'. Did you mean --json?",
      advice: "See: convoke send --help",
    },
  });
  expect(text.stderr).toMatch(/^"--json" is not an http/);
});

test.each([
  ["jsonrpc", "JSONRPC"],
  ["grpc,rest", "GRPC"],
  ["rest", "HTTP+JSON"],
])("--binding %s uses %s", async (binding) => {
  const { url } = await serveDemo();

  expect(await runCli(["send", url, "message", "--binding", binding])).toMatchObject({
    code: 0,
    stdout: "This is one message, and there is no task behind it.\n",
  });
});

test("--binding uses no other binding, and lists the available ones", async () => {
  const agent = await agentThat({ message: message("Hi") });

  const { code, stderr } = await runCli(["send", agent.url, "hi", "--binding", "grpc"]);
  const slip = await runCli(["send", agent.url, "hi", "--binding", "grcp"]);

  expect(code).toBe(3);
  expect(stderr).toContain("it offers JSONRPC 1.0 at");
  expect(stderr).toContain("convoke card <url> shows what it offers.");
  expect(slip.stderr).toMatch(/not "grcp"\. Did you mean grpc\?/);
});

test("metadata, accepted types, history length and extensions are sent with the request", async () => {
  const agent = await agentThat(task("COMPLETED"));

  const more = ["--accept", "text/plain, image/png", "--extension", "https://a.example/x"];
  const args = ["send", agent.url, "Ann", "--metadata", '{"tier":"gold"}', "--history", "0"];
  await runCli([...args, ...more]);

  expect(agent.last.call?.params).toMatchObject({
    configuration: { acceptedOutputModes: ["text/plain", "image/png"], historyLength: 0 },
    metadata: { tier: "gold" },
  });
  expect(agent.last.headers["a2a-extensions"]).toContain("https://a.example/x");
});

test.each([
  ["--metadata", "[1]", "--metadata must be a JSON object"],
  ["--metadata", "{", "--metadata must be a JSON object"],
  ["--history", "-1", ""],
  ["--history", "all", "--history must be a number of messages"],
  ["--accept", "text/plain,,", "--accept takes media types"],
])("%s %s is a usage error", async (flag, value, problem) => {
  const { code, stderr } = await runCli(["send", "http://127.0.0.1:1", "Ann", flag, value]);

  expect(code).toBe(2);
  expect(stderr).toContain(problem);
});

test("a card that refers to the private network is rejected, and --allow permits it", async () => {
  const inside = await agentThat({ message: message("Hi") });
  const agent = await startFakeAgent({
    pages: pagesV1({
      supportedInterfaces: ["JSONRPC", "HTTP+JSON"].map((protocolBinding) => ({
        url: inside.url,
        protocolBinding,
        protocolVersion: "1.0",
      })),
    }),
  });

  const refused = await runCli(["send", agent.url, "Ann"]);
  expect(refused.code).toBe(3);
  expect(refused.stderr).toContain("is not a public address");
  expect(refused.stderr).toContain("--allow <host> permits a private address");

  const { host } = new URL(inside.url);
  expect(await runCli(["send", agent.url, "Ann", "--allow", host])).toMatchObject({
    stdout: "Hi\n",
  });
  const wrong = await runCli(["send", agent.url, "Ann", "--allow", "http://a.example"]);
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("--allow: cannot read") });
});

test("a credential that an agent asks for is sent on standard input", async () => {
  const agent = defineAgent({
    name: "Planner",
    description: "Plans.",
    run: async ({ authRequired }) => {
      const token = await authRequired("May I?", { credential: "calendar" });
      return `${token.length} characters`;
    },
  });
  const logger = createJsonLogger("silent", () => undefined);
  const server = await serve(agent, { port: 0, data: "memory", logger });
  onTestFinished(() => server.close());

  const asked = await runCli(["send", server.url, "plan"]);
  const [, taskId = ""] = /send \S+ --task (\S+) -\n/.exec(asked.stderr) ?? [];
  const told = await runCli(["send", server.url, "--task", taskId, "-"], { stdin: "token\n" });

  expect(asked.stderr).toContain("Send it on standard input: ");
  expect(told.stdout).toBe("5 characters\n");
});
