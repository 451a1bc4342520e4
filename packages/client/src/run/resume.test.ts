import { describe, expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { connect } from "../agent/connect.ts";
import {
  type Call,
  type Reply,
  type Seen,
  failure,
  json,
  pagesV1,
  result,
  startFakeAgent,
  stream,
} from "../../../../test/client/fake-agent.ts";
import {
  aChunk,
  aListener,
  aStatus,
  aTask,
  anArtifact,
  collect,
  frames,
  outline,
} from "./a-stream.suite.ts";

const IDEMPOTENT = {
  capabilities: {
    streaming: true,
    extensions: [
      { uri: "https://convoke.dev/extensions/idempotency/v1", params: { inMessage: true } },
    ],
  },
};

type Answer = (call: Call, seen: Seen) => Reply;

/** An agent that answers each call with the next of its responses; the last one repeats. */
async function agentThat(answers: readonly Answer[], card: object = {}) {
  const left = [...answers];
  const answer: Answer = (call, seen) => {
    const next = left.length > 1 ? left.shift() : left[0];
    if (next === undefined) throw new Error("the agent has no answer");
    return next(call, seen);
  };
  const agent = await startFakeAgent({ pages: pagesV1(card), answer });
  const calls = () => agent.seen.flatMap(({ call }) => call ?? []);
  return { agent, calls, methods: () => calls().map(({ method }) => method) };
}

const snapshot = (call: Call, state: string, more: object = {}): Reply =>
  result(call, (aTask(state, more) as { task: object }).task);

const BEGUN = [aTask("SUBMITTED"), aStatus("WORKING"), aChunk("Hel")];
const BROKEN = { after: 0, end: "broken" } as const;

describe("an agent that keeps its events", () => {
  test.each(["properly", "broken"] as const)(
    "resumes after the last one when a stream ends %s in the middle",
    async (end) => {
      const { agent, calls } = await agentThat([
        (call) => frames(call, BEGUN, { after: 0, end }),
        (call) => frames(call, [aChunk("lo"), aStatus("COMPLETED")], { after: 3 }),
      ]);
      const remote = await connect(agent.url);
      const { notices, onNotice } = aListener();
      const run = remote.stream("Ann", { onNotice });

      const [all, text] = await Promise.all([collect(run), collect(run.text)]);

      expect(outline(all)).toEqual([
        "task submitted",
        "status working",
        "artifact Hel",
        "artifact lo",
        "status completed",
      ]);
      expect(text).toEqual(["Hel", "lo"]);
      expect(calls().map(({ method }) => method)).toEqual([
        "SendStreamingMessage",
        "SubscribeToTask",
      ]);
      expect(agent.last.headers["last-event-id"]).toBe("3");
      expect(notices).toMatchObject([
        { kind: "reconnecting", attempt: 1 },
        { kind: "resumed", lastEventId: "3" },
      ]);
      expect(run.lastEventId).toBe("5");
    },
  );

  test("duplicates are delivered once", async () => {
    const { agent } = await agentThat([
      (call) => frames(call, BEGUN, BROKEN),
      (call) => frames(call, [aChunk("Hel"), aChunk("lo"), aStatus("COMPLETED")], { after: 2 }),
    ]);
    const remote = await connect(agent.url);

    expect((await remote.stream("Ann").result).text).toBe("Hello");
  });

  test("a cursor that is no longer valid is replaced by the whole task", async () => {
    const artifacts = [anArtifact("Hello")];
    const reset = aTask("WORKING", { artifacts, metadata: { resumption: "reset", a: 1 } });
    const { agent } = await agentThat([
      (call) => frames(call, BEGUN, BROKEN),
      (call) => frames(call, [reset, aChunk("!"), aStatus("COMPLETED")], { after: 1 }),
    ]);
    const remote = await connect(agent.url);
    const { notices, onNotice } = aListener();
    const run = remote.stream("Ann", { onNotice });

    const [all, text] = await Promise.all([collect(run), collect(run.text)]);

    expect(outline(all)).toEqual([
      "task submitted",
      "status working",
      "artifact Hel",
      "task working",
      "artifact !",
      "status completed",
    ]);
    expect(all[3]).toMatchObject({ metadata: { a: 1 } });
    expect(all[3]).not.toHaveProperty("metadata.resumption");
    expect(text).toEqual(["Hel", "lo", "!"]);
    expect(notices.map(({ kind }) => kind)).toEqual(["reconnecting", "resynced"]);
  });

  test("with nothing after the cursor of a finished task ends there", async () => {
    const { agent, methods } = await agentThat([
      (call) => frames(call, []),
      (call) => snapshot(call, "COMPLETED", { artifacts: [anArtifact("Hello")] }),
    ]);
    const remote = await connect(agent.url);
    const run = remote.subscribe("t1", { lastEventId: "9" });

    expect(await collect(run)).toEqual([]);
    expect(run.lastEventId).toBe("9");
    expect((await run.result).text).toBe("Hello");
    expect(methods()).toEqual(["SubscribeToTask", "GetTask", "GetTask"]);
  });

  test("events in the wrong order are replaced by the whole task", async () => {
    const frame = (id: number, call: Call, value: unknown): string =>
      `id: ${id}\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: call.id, result: value })}\n\n`;
    const artifacts = [anArtifact("abc")];
    const { agent } = await agentThat([
      (call) =>
        stream(
          frame(1, call, aTask("SUBMITTED")) +
            frame(2, call, aChunk("a")) +
            frame(4, call, aChunk("c")) +
            frame(3, call, aChunk("b")),
        ),
      (call) => frames(call, [aTask("WORKING", { artifacts }), aStatus("COMPLETED")], { after: 4 }),
    ]);
    const remote = await connect(agent.url);

    expect((await remote.stream("Ann").result).text).toBe("abc");
    expect(agent.last.headers["last-event-id"]).toBeUndefined();
  });
});

describe("an agent without cursors", () => {
  test("is subscribed to again, and its snapshot replaces the earlier state", async () => {
    const artifacts = [anArtifact("Hello")];
    const { agent } = await agentThat([
      (call) => frames(call, BEGUN, { end: "broken" }),
      (call) => frames(call, [aTask("WORKING", { artifacts }), aChunk("!"), aStatus("COMPLETED")]),
    ]);
    const remote = await connect(agent.url);
    const { notices, onNotice } = aListener();
    const run = remote.stream("Ann", { onNotice });

    const [all, text] = await Promise.all([collect(run), collect(run.text)]);

    expect(outline(all).slice(3)).toEqual(["task working", "artifact !", "status completed"]);
    expect(text).toEqual(["Hel", "lo", "!"]);
    expect((await run.result).text).toBe("Hello!");
    expect(notices.map(({ kind }) => kind)).toEqual(["reconnecting", "resynced"]);
  });

  test("whose snapshot has nothing new has missed nothing", async () => {
    const artifacts = [anArtifact("Hel")];
    const { agent } = await agentThat([
      (call) => frames(call, BEGUN, { end: "broken" }),
      (call) => frames(call, [aTask("WORKING", { artifacts }), aChunk("lo"), aStatus("COMPLETED")]),
    ]);
    const remote = await connect(agent.url);
    const { notices, onNotice } = aListener();

    const all = await collect(remote.stream("Ann", { onNotice }));

    expect(outline(all)).toEqual([
      "task submitted",
      "status working",
      "artifact Hel",
      "artifact lo",
      "status completed",
    ]);
    expect(notices.map(({ kind }) => kind)).toEqual(["reconnecting"]);
  });

  test("that continues only with new events is asked for the missed ones, and at the end again", async () => {
    const { agent, methods } = await agentThat([
      (call) => frames(call, BEGUN, { end: "broken" }),
      (call) => frames(call, [aChunk("lo"), aStatus("COMPLETED")]),
      (call) => snapshot(call, "WORKING", { artifacts: [anArtifact("Hello")] }),
      (call) => snapshot(call, "COMPLETED", { artifacts: [anArtifact("Hello")] }),
    ]);
    const remote = await connect(agent.url);
    const run = remote.stream("Ann");

    const pieces = await collect(run.pieces);
    const answer = await run.result;

    expect(pieces.reduce((all, { text, replaces }) => (replaces ? text : all + text), "")).toBe(
      "Hello",
    );
    expect(answer.text).toBe("Hello");
    expect(methods().slice(2)).toEqual(["GetTask", "GetTask"]);
  });

  test("that numbers the frames of each connection is recognized", async () => {
    const artifacts = [anArtifact("Hello")];
    const { agent } = await agentThat([
      (call) => frames(call, BEGUN, BROKEN),
      (call) =>
        frames(call, [aTask("WORKING", { artifacts }), aChunk("!"), aStatus("COMPLETED")], {
          after: 0,
        }),
    ]);
    const remote = await connect(agent.url);

    expect((await remote.stream("Ann").result).text).toBe("Hello!");
  });

  test("a task that ended in the meantime cannot be subscribed to, so it is fetched", async () => {
    const { agent } = await agentThat([
      (call) => frames(call, BEGUN, { end: "broken" }),
      (call) => failure(call, { code: -32004, message: "the task is already completed" }),
      (call) => snapshot(call, "COMPLETED", { artifacts: [anArtifact("Hello")] }),
    ]);
    const remote = await connect(agent.url);

    const all = await collect(remote.stream("Ann"));

    expect(outline(all).at(-1)).toBe("task completed");
  });

  test("a question that arrived in the meantime ends the answer, although the subscription stays open", async () => {
    const { agent } = await agentThat([
      (call) => frames(call, BEGUN, { end: "broken" }),
      (call) => frames(call, [aTask("INPUT_REQUIRED")], { end: "never" }),
    ]);
    const remote = await connect(agent.url);

    expect((await remote.stream("Ann").result).question?.kind).toBe("input-required");
  });
});

test("an artifact that begins after the event at which a reader resumes replaces what it may have", async () => {
  const { agent } = await agentThat([
    (call) => {
      const events = [aChunk("Bye", "a1", false), aChunk("!"), aStatus("COMPLETED")];
      return frames(call, events, { after: 3 });
    },
  ]);
  const remote = await connect(agent.url);

  const pieces = await collect(remote.subscribe("t1", { lastEventId: "3" }).pieces);

  expect(pieces).toEqual([
    { artifactId: "a1", text: "Bye", replaces: true },
    { artifactId: "a1", text: "!", replaces: false },
  ]);
});

test("a task that the agent has lost is one clear error", async () => {
  const { agent } = await agentThat([
    (call) => frames(call, BEGUN, BROKEN),
    (call) => failure(call, { code: -32001, message: "Task not found" }),
  ]);
  const remote = await connect(agent.url);

  await expect(remote.stream("Ann").result).rejects.toMatchObject({
    name: "RemoteError",
    code: -32001,
    message: expect.stringContaining("has lost task t1"),
  });
});

test("a task that never existed is the agent's own error", async () => {
  const { agent } = await agentThat([
    (call) => failure(call, { code: -32001, message: "Task not found" }),
  ]);
  const remote = await connect(agent.url);

  await expect(collect(remote.subscribe("t1"))).rejects.toMatchObject({
    code: -32001,
    message: "Task not found",
  });
});

test("without reconnecting, the first loss is the end, and the error says where", async () => {
  const { agent } = await agentThat([(call) => frames(call, BEGUN, { after: 0 })]);
  const broken = await agentThat([(call) => frames(call, BEGUN, BROKEN)]);
  const remote = await connect(agent.url);
  const other = await connect(broken.agent.url);
  const run = remote.stream("Ann", { reconnect: false });

  await expect(collect(run)).rejects.toMatchObject({
    kind: "unreachable",
    message: expect.stringContaining("closed the stream before task t1 was done"),
  });
  expect(run.lastEventId).toBe("3");
  await expect(collect(other.stream("Ann", { reconnect: false }))).rejects.toMatchObject({
    kind: "unreachable",
    message: expect.stringContaining("was lost"),
  });
});

test("it gives up after the given time without progress", async () => {
  const { agent, methods } = await agentThat([
    (call) => frames(call, BEGUN, BROKEN),
    () => json("busy", 503),
  ]);
  const remote = await connect(agent.url);

  const run = remote.stream("Ann", { reconnect: { forMs: 2000 } });

  await expect(collect(run)).rejects.toMatchObject({ name: "RemoteError", httpStatus: 503 });
  expect(methods().length).toBeGreaterThan(2);
  expect(methods().length).toBeLessThan(10);
});

test("aborting while it waits for another attempt ends it with the reason", async () => {
  const { agent } = await agentThat([
    (call) => frames(call, BEGUN, BROKEN),
    () => json("busy", 503),
  ]);
  const remote = await connect(agent.url);
  const controller = new AbortController();
  const run = remote.stream("Ann", {
    signal: controller.signal,
    onNotice: ({ kind }) => kind === "reconnecting" && controller.abort(new Error("enough")),
  });

  await expect(collect(run)).rejects.toThrow("enough");
});

describe("unreadable data", () => {
  const garbage = (call: Call, after: number): Reply => {
    const { body = "" } = frames(call, [aChunk("x")], { after });
    return stream(body.replace("{", "{{"));
  };

  verifies("R44", "is reported once, and the run resumes before it", async () => {
    const { agent } = await agentThat([
      (call) => stream(`${frames(call, BEGUN, { after: 0 }).body}${garbage(call, 3).body}`),
      (call) => frames(call, [aChunk("lo"), aStatus("COMPLETED")], { after: 3 }),
    ]);
    const remote = await connect(agent.url);
    const { notices, onNotice } = aListener();

    const { text } = await remote.stream("Ann", { onNotice }).result;

    expect(text).toBe("Hello");
    expect(notices.map(({ kind }) => kind)).toEqual(["unreadable", "reconnecting", "resumed"]);
  });

  verifies("R44", "is one clear error if it is repeated", async () => {
    const { agent, methods } = await agentThat([
      (call) => frames(call, BEGUN, BROKEN),
      (call) => garbage(call, 3),
    ]);
    const remote = await connect(agent.url);

    await expect(remote.stream("Ann").result).rejects.toMatchObject({
      kind: "unreadable",
      message: expect.stringContaining("A second attempt had the same result"),
    });
    expect(methods()).toHaveLength(3);
  });

  test("includes events of another task", async () => {
    const other = {
      statusUpdate: { taskId: "t2", contextId: "c1", status: { state: "TASK_STATE_FAILED" } },
    };
    const { agent } = await agentThat([
      (call) => frames(call, [...BEGUN, other], { after: 0 }),
      (call) => frames(call, [aChunk("lo"), aStatus("COMPLETED")], { after: 3 }),
    ]);
    const remote = await connect(agent.url);

    expect((await remote.stream("Ann").result).text).toBe("Hello");
  });
});

describe("a message that may have been lost", () => {
  const nothing = (): Reply => stream("", "broken");
  const hello = (call: Call): Reply =>
    frames(call, [aTask("COMPLETED", { artifacts: [anArtifact("Hello")] })]);

  test("is not sent again to an agent that might execute it twice, and the error says why", async () => {
    const { agent, methods } = await agentThat([nothing, hello]);
    const remote = await connect(agent.url);

    await expect(remote.stream("Ann").result).rejects.toMatchObject({
      kind: "unreachable",
      message: expect.stringContaining("The message was not resent"),
    });
    expect(methods()).toHaveLength(1);
  });

  test("is sent again unchanged to an agent with idempotency", async () => {
    const { agent, calls } = await agentThat([nothing, hello], IDEMPOTENT);
    const remote = await connect(agent.url);

    expect((await remote.stream("Ann").result).text).toBe("Hello");
    const [first, second] = calls().map(({ params }) => params["message"]);
    expect(second).toEqual(first);
  });

  test("is sent again to any agent if that is enabled", async () => {
    const { agent, methods } = await agentThat([nothing, hello]);
    const remote = await connect(agent.url);

    const run = remote.stream("Ann", { reconnect: { resend: "always" } });

    expect((await run.result).text).toBe("Hello");
    expect(methods()).toHaveLength(2);
  });

  test.each<[string, Answer]>([
    ["a 429", () => json("busy", 429)],
    ["a 503 that says when", () => ({ status: 503, headers: { "Retry-After": "0" } })],
    [
      "a 503 in the words of A2A",
      ({ id }) =>
        json({ jsonrpc: "2.0", id, error: { code: -32603, message: "the server is full" } }, 503),
    ],
  ])("is sent again after %s, because then nothing was done", async (_, refusal) => {
    const { agent, methods } = await agentThat([refusal, hello]);
    const remote = await connect(agent.url);

    expect((await remote.stream("Ann").result).text).toBe("Hello");
    expect(methods()).toHaveLength(2);
  });

  test("is looked up in the task that it was for", async () => {
    let messageId = "";
    const { agent, methods } = await agentThat([
      (call) => {
        ({ messageId } = call.params["message"] as { messageId: string });
        return nothing();
      },
      (call) => {
        const history = [{ messageId, role: "ROLE_USER", parts: [{ text: "Ann" }] }];
        return snapshot(call, "WORKING", { history });
      },
      (call) => frames(call, [aTask("WORKING"), aChunk("Hello"), aStatus("COMPLETED")]),
    ]);
    const remote = await connect(agent.url);

    expect((await remote.stream("Ann", { taskId: "t1" }).result).text).toBe("Hello");
    expect(methods()).toEqual(["SendStreamingMessage", "GetTask", "SubscribeToTask"]);
  });
});

describe("the answer to a question, when its stream is lost", () => {
  const text = (words: string, messageId: string, role = "ROLE_AGENT"): object => ({
    messageId,
    role,
    parts: [{ text: words }],
  });
  const asked = (words: string, messageId: string): object => ({
    status: { state: "TASK_STATE_INPUT_REQUIRED", message: text(words, messageId) },
  });
  const answered = text("red", "m7", "ROLE_USER");
  const oldQuestion = { ...asked("Colour?", "q1"), history: [text("Colour?", "q1"), answered] };
  const options = { taskId: "t1", messageId: "m7" };
  const done = (call: Call): Reply =>
    snapshot(call, "COMPLETED", { artifacts: [anArtifact("Red it is")] });

  test("is waited for while the task shows the old question", async () => {
    const { agent, methods } = await agentThat([
      () => stream("", "broken"),
      (call) => snapshot(call, "WORKING", oldQuestion),
      (call) => snapshot(call, "WORKING", oldQuestion),
      done,
    ]);
    const remote = await connect(agent.url);

    expect((await remote.stream("red", options).result).text).toBe("Red it is");
    expect(methods()).toEqual(["SendStreamingMessage", "GetTask", "GetTask", "GetTask"]);
  });

  test("is not the old question, however long the task shows it", async () => {
    const { agent, methods } = await agentThat([
      () => stream("", "broken"),
      (call) => snapshot(call, "WORKING", oldQuestion),
    ]);
    const remote = await connect(agent.url);

    const run = remote.stream("red", { ...options, reconnect: { forMs: 500 } });

    await expect(run.result).rejects.toThrow("may have been taken, so it was not sent again");
    expect(methods().filter((method) => method !== "GetTask")).toEqual(["SendStreamingMessage"]);
  });

  test("is a question that the agent asked after it", async () => {
    const history = [text("Colour?", "q1"), answered, text("Size?", "q2")];
    const { agent } = await agentThat([
      () => stream("", "broken"),
      (call) => snapshot(call, "WORKING", { ...asked("Size?", "q2"), history }),
    ]);
    const remote = await connect(agent.url);

    expect((await remote.stream("red", options).result).question?.text).toBe("Size?");
  });

  test("is not the old question that a stream begins with, before and after the loss", async () => {
    const before = { task: { id: "t1", contextId: "c1", ...asked("Colour?", "q1") } };
    const { agent, methods } = await agentThat([
      (call) => frames(call, [before], { end: "broken" }),
      (call) =>
        frames(call, [before, aStatus("WORKING"), aChunk("Red it is"), aStatus("COMPLETED")]),
    ]);
    const remote = await connect(agent.url);

    expect((await remote.stream("red", options).result).text).toBe("Red it is");
    expect(methods()).toEqual(["SendStreamingMessage", "SubscribeToTask"]);
  });
});

describe("an agent that does not stream", () => {
  const poll = { first: 5, most: 20 };

  test.each([
    ["its card says so", { capabilities: { streaming: false } }, undefined],
    ["it has no such method", {}, -32601],
    ["its card says nothing, and it rejects streams", { capabilities: {} }, -32004],
  ])("is polled for the state of the task (%s)", async (_, card, code) => {
    const refusal: Answer = (call) => failure(call, { code: code ?? 0, message: "no streams" });
    const { agent, calls } = await agentThat(
      [
        ...(code === undefined ? [] : [refusal]),
        (call) => result(call, aTask("SUBMITTED")),
        (call) => snapshot(call, "WORKING", { artifacts: [anArtifact("Hel")] }),
        (call) => snapshot(call, "WORKING", { artifacts: [anArtifact("Hel")] }),
        (call) => snapshot(call, "COMPLETED", { artifacts: [anArtifact("Hello")] }),
      ],
      card,
    );
    const remote = await connect(agent.url);
    const { notices, onNotice } = aListener();
    const run = remote.stream("Ann", { pollMs: poll, onNotice });

    const [all, text] = await Promise.all([collect(run), collect(run.text)]);

    expect(outline(all)).toEqual([
      "task submitted",
      "artifact Hel",
      "status working",
      "artifact lo",
      "status completed",
    ]);
    expect(text).toEqual(["Hel", "lo"]);
    expect(notices.map(({ kind }) => kind)).toEqual(["polling"]);
    const send = calls().find(({ method }) => method === "SendMessage");
    expect(send?.params["configuration"]).toMatchObject({ returnImmediately: true });
  });

  test("may answer with a message", async () => {
    const message = { messageId: "m1", role: "ROLE_AGENT", parts: [{ text: "Hi" }] };
    const { agent } = await agentThat([(call) => result(call, { message })], {
      capabilities: { streaming: false },
    });
    const remote = await connect(agent.url);

    expect(await remote.stream("Ann").result).toMatchObject({ text: "Hi", message: {} });
  });
});

describe("a stream that has gone silent", () => {
  test("is lost if its task has ended without it", async () => {
    const { agent } = await agentThat([
      (call) => frames(call, BEGUN, { after: 0, end: "never" }),
      (call) => snapshot(call, "COMPLETED", { artifacts: [anArtifact("Hello")] }),
      (call) => frames(call, [aChunk("lo"), aStatus("COMPLETED")], { after: 3 }),
    ]);
    const remote = await connect(agent.url);
    const { notices, onNotice } = aListener();

    const { text } = await remote.stream("Ann", { idleTimeoutMs: 400, onNotice }).result;

    expect(text).toBe("Hello");
    expect(notices[0]?.message).toContain("nothing came for");
  });

  test("continues while the task has not changed", async () => {
    const working: Answer = (call) => snapshot(call, "WORKING", { artifacts: [anArtifact("Hel")] });
    const { agent, methods } = await agentThat([
      (call) => frames(call, BEGUN, { after: 0, end: "never" }),
      working,
      working,
      (call) => snapshot(call, "COMPLETED", { artifacts: [anArtifact("Hello")] }),
      (call) => frames(call, [aChunk("lo"), aStatus("COMPLETED")], { after: 3 }),
    ]);
    const remote = await connect(agent.url);

    const { text } = await remote.stream("Ann", { idleTimeoutMs: 400 }).result;

    expect(text).toBe("Hello");
    expect(methods()).toEqual([
      "SendStreamingMessage",
      "GetTask",
      "GetTask",
      "GetTask",
      "SubscribeToTask",
    ]);
  });
});
