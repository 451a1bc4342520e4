import { type Question, type RemoteAgent, connect } from "@convoke/client";
import { createJsonLogger } from "@convoke/engine";
import { type Agent, serve } from "convoke";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { events, failure, pagesV1, startFakeAgent } from "./fake-agent.ts";
import { worker } from "./worker-agent.ts";

const VERSIONS = [
  { inner: "0.3", outer: "1.0" },
  { inner: "1.0", outer: "0.3" },
] as const;

const logger = createJsonLogger("error", (line) => process.stderr.write(line));
const serveHere = (agent: Agent) => serve(agent, { port: 0, data: "memory", logger });
type Served = Awaited<ReturnType<typeof serveHere>>;

describe.each(VERSIONS)("an agent in $inner, served again and called in $outer", (versions) => {
  let server: Served;
  let bridge: Served;
  /** The agent behind the bridge, called directly. */
  let direct: RemoteAgent;
  let remote: RemoteAgent;
  /** Only 1.0 has a list operation. */
  let inspector: RemoteAgent;

  beforeAll(async () => {
    server = await serveHere(worker);
    direct = await connect(server.url, { version: versions.inner });
    bridge = await serveHere(direct);
    remote = await connect(bridge.url, { version: versions.outer });
    inspector = await connect(server.url, { version: "1.0" });
  });

  afterAll(async () => {
    await bridge.close();
    await server.close();
  });

  test("has the data of the original card", () => {
    expect(remote.info).toMatchObject({
      name: "Worker",
      description: "Does what it is told.",
      version: "3.2.1",
      skills: worker.info.skills,
    });
  });

  test("streams like the original", async () => {
    const run = remote.stream("count 30");
    const seen = [];
    for await (const event of run) seen.push(event);
    const { text, task } = await run.result;

    expect(text).toBe(Array.from({ length: 30 }, (_, place) => place + 1).join(" "));
    expect(task?.status.state).toBe("completed");
    expect(seen.filter(({ kind }) => kind === "artifact-update").length).toBeGreaterThan(3);
    const said = seen.flatMap((event) =>
      event.kind === "status-update" && event.status.message ? [event.status.message] : [],
    );
    expect(said.map(({ parts }) => parts)).toEqual([
      [{ kind: "text", text: "at 1" }],
      [{ kind: "text", text: "at 11" }],
      [{ kind: "text", text: "at 21" }],
    ]);
    for (const message of said) {
      expect(message).toMatchObject({ taskId: run.taskId, contextId: run.contextId });
    }
  });

  test("returns a message without a task", async () => {
    expect(await remote.send("reply")).toMatchObject({ text: "No task needed.", message: {} });
  });

  test("asks, and accepts the answers", async () => {
    const asked: string[] = [];
    const answers = ["Ann", "York"];
    const conversation = remote.conversation({
      onQuestion: (question: Question) => {
        asked.push(question.text);
        return answers.shift();
      },
    });

    const { text, task } = await conversation.say("ask").result;

    expect(asked).toEqual(["Who are you?", "Where, Ann?"]);
    expect(text).toBe("Well. Ann of York");
    expect(task?.status.state).toBe("completed");
  });

  test("waits for an authorization, and accepts the confirmation", async () => {
    const conversation = remote.conversation({ onAuthRequired: () => "done" });

    expect((await conversation.say("auth").result).text).toBe("You are in.");
  });

  test.each([
    ["fail", "failed", "It broke."],
    ["reject", "rejected", "Not me."],
  ])("ends like the original (%s)", async (command, state, words) => {
    const { task } = await remote.send(command);

    expect(task?.status).toMatchObject({ state, message: { parts: [{ text: words }] } });
  });

  test("remembers a conversation, and no other caller's", async () => {
    const { task } = await remote.send("count 1");
    const contextId = task?.contextId ?? "";

    expect((await remote.send("remember", { contextId })).text).toBe("count 1");
    expect((await remote.send("remember")).text).toBe("");
    // The context id here differs from the one there.
    expect((await direct.send("remember", { contextId })).text).toBe("");
  });

  test("receives the message unchanged", async () => {
    const parts = [
      { kind: "text", text: "echo" },
      { kind: "data", data: { a: [1, null] } },
      { kind: "file", file: { name: "a.txt", mimeType: "text/plain", bytes: "aGk=" } },
    ] as const;
    const metadata = { colour: "blue" };

    const { task } = await remote.send({
      kind: "message",
      messageId: `m-${versions.inner}`,
      role: "user",
      parts,
      metadata,
    });

    expect(task?.artifacts?.[0]?.parts[0]).toMatchObject({ data: { parts, metadata } });
  });

  test("is canceled with the local task", async () => {
    const run = remote.stream("wait");
    for await (const event of run) if (event.kind === "artifact-update") break;
    const { tasks } = await inspector.list({ state: "working" });
    expect(tasks).toHaveLength(1);

    const task = await remote.cancel(run.taskId ?? "");

    expect(task.status.state).toBe("canceled");
    await expect
      .poll(async () => (await inspector.get(tasks[0]?.id ?? "")).status.state)
      .toBe("canceled");
  });
});

test("an error of a remote agent keeps its text", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => failure(call, { code: -32005, message: "I read no such thing" }),
  });
  const bridge = await serveHere(await connect(agent.url));
  onTestFinished(() => bridge.close());
  const remote = await connect(bridge.url);

  const { task, text } = await remote.send("hello");

  expect(task?.status.state).toBe("failed");
  expect(text).toBe("the remote agent responded with an error: I read no such thing");
});

/** An agent that chooses its context ids itself, and what a bridge to it makes of a message. */
async function besideOwnContexts(code: number, card: object) {
  const agent = await startFakeAgent({
    pages: pagesV1(card),
    answer: (call) => {
      const { contextId } = call.params["message"] as { readonly contextId?: string };
      if (contextId !== undefined) return failure(call, { code, message: "unknown context" });
      const status = { state: "TASK_STATE_COMPLETED" };
      return events(call, [{ task: { id: "t1", contextId: "mine", status } }]);
    },
  });
  const bridge = await serveHere(await connect(agent.url));
  onTestFinished(() => bridge.close());
  const remote = await connect(bridge.url);
  const { task } = await remote.send("hello");
  const messages = agent.seen.filter(({ call }) => call !== undefined).length;
  return { state: task?.status.state, messages };
}

test.each([
  ["invalid params", -32602, {}],
  ["an unsupported operation", -32004, { capabilities: {} }],
])("an agent that names our context id %s gets the message without it", async (_, code, card) => {
  expect((await besideOwnContexts(code, card)).state).toBe("completed");
});

test("an agent that promises streams and ends one with -32004 is not sent the message again", async () => {
  expect(await besideOwnContexts(-32004, {})).toEqual({ state: "failed", messages: 1 });
});
