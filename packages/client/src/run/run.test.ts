import type { PublicEvent } from "@convoke/protocol";
import { expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { connect } from "../agent/connect.ts";
import {
  type Call,
  events,
  failure,
  pagesV03,
  pagesV1,
  result,
  startFakeAgent,
  stream,
} from "../../../../test/client/fake-agent.ts";
import { aChunk, aStatus, aTask, anArtifact, collect, outline } from "./a-stream.suite.ts";

/** An agent that streams an answer. */
const agentThat = (frames: readonly object[], end?: "properly" | "never" | "broken") =>
  startFakeAgent({ pages: pagesV1(), answer: (call) => events(call, frames, end) });

const HELLO = [
  aTask("SUBMITTED"),
  aStatus("WORKING", "looking"),
  aChunk("Hel"),
  aChunk("lo"),
  aStatus("COMPLETED"),
];

test("a 1.0 stream returns the events in the types of the model and the id of each", async () => {
  const agent = await agentThat(HELLO);
  const remote = await connect(agent.url);
  const seen: [string, string | undefined][] = [];

  const run = remote.stream("Ann");
  for await (const event of run) seen.push([event.kind, run.lastEventId]);

  expect(seen).toEqual([
    ["task", "1"],
    ["status-update", "2"],
    ["artifact-update", "3"],
    ["artifact-update", "4"],
    ["status-update", "5"],
  ]);
  expect([run.taskId, run.contextId]).toEqual(["t1", "c1"]);
  expect(agent.last.call?.method).toBe("SendStreamingMessage");
  expect(agent.last.headers["accept"]).toBe("text/event-stream");
});

test("a 0.3 stream ends at final, even if the server does not close it", async () => {
  const ids = { taskId: "t1", contextId: "c1" };
  const final = { kind: "status-update", ...ids, status: { state: "working" }, final: true };
  const task = { kind: "task", id: "t1", contextId: "c1", status: { state: "submitted" } };
  const agent = await startFakeAgent({
    pages: pagesV03(),
    answer: (call) => events(call, [task, final], "never"),
  });
  const remote = await connect(agent.url);

  const seen = await collect(remote.stream("Ann"));

  expect(outline(seen)).toEqual(["task submitted", "status working"]);
  expect(agent.last.call?.method).toBe("message/stream");
  await agent.last.closed;
});

test("a question ends an answer, even if the server keeps the stream open", async () => {
  const agent = await agentThat(
    [aTask("SUBMITTED"), aStatus("INPUT_REQUIRED", "Who?"), aStatus("WORKING")],
    "never",
  );
  const remote = await connect(agent.url);

  const answer = await remote.stream("Ann").result;

  expect(answer.question).toMatchObject({ kind: "input-required", text: "Who?", taskId: "t1" });
  await agent.last.closed;
});

test("the question that an answer is for does not end its stream", async () => {
  const agent = await agentThat([
    aTask("INPUT_REQUIRED"),
    aStatus("WORKING"),
    aChunk("Hello"),
    aStatus("COMPLETED"),
  ]);
  const remote = await connect(agent.url);

  const { text } = await remote.stream("Ann", { taskId: "t1" }).result;

  expect(text).toBe("Hello");
});

test("a subscription continues after a question if the server keeps it open", async () => {
  const agent = await agentThat(
    [aTask("SUBMITTED"), aStatus("INPUT_REQUIRED"), aStatus("COMPLETED")],
    "never",
  );
  const remote = await connect(agent.url);

  expect(await collect(remote.subscribe("t1"))).toHaveLength(3);
});

test("a task that waits for an authorization is followed while the stream is open", async () => {
  const agent = await agentThat([
    aTask("SUBMITTED"),
    aStatus("AUTH_REQUIRED", "Log in"),
    aStatus("WORKING"),
    aStatus("COMPLETED"),
  ]);
  const remote = await connect(agent.url);

  expect(await collect(remote.stream("Ann"))).toHaveLength(4);
});

test("a stream that closes while it waits for an authorization has ended", async () => {
  const agent = await agentThat([aTask("SUBMITTED"), aStatus("AUTH_REQUIRED", "Log in")]);
  const remote = await connect(agent.url);

  const { question } = await remote.stream("Ann").result;

  expect(question).toMatchObject({ kind: "auth-required", text: "Log in" });
});

test("a message is the complete answer", async () => {
  const message = { messageId: "m1", role: "ROLE_AGENT", parts: [{ text: "Hi" }] };
  const agent = await agentThat([{ message }], "never");
  const remote = await connect(agent.url);
  const run = remote.stream("Ann");

  expect(await collect(run)).toMatchObject([{ kind: "message", role: "agent" }]);
  expect(await run.result).toMatchObject({ text: "Hi", message: { messageId: "m1" } });
});

verifies("R44", "a rejection in plain JSON is the agent's error", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => failure(call, { code: -32005, message: "no pictures here" }),
  });
  const remote = await connect(agent.url);

  await expect(collect(remote.stream("Ann"))).rejects.toMatchObject({
    name: "RemoteError",
    code: -32005,
    message: "no pictures here",
  });
});

verifies(
  "R44",
  "an error inside the stream is the agent's error, in a named frame or not",
  async () => {
    const error = { code: -32603, message: "it broke" };
    const bodies = [
      ({ id }: Call) => `event: error\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`,
      () => `event: error\ndata: ${JSON.stringify(error)}\n\n`,
      ({ id }: Call) => `data: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`,
    ];
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: (call) => stream(bodies.shift()?.(call) ?? ""),
    });
    const remote = await connect(agent.url);

    for (let count = 0; count < 3; count += 1) {
      await expect(collect(remote.stream("Ann"))).rejects.toMatchObject({
        name: "RemoteError",
        ...error,
      });
    }
  },
);

test("leaving the loop closes the connection", async () => {
  const agent = await agentThat([aTask("SUBMITTED")], "never");
  const remote = await connect(agent.url);

  for await (const event of remote.stream("Ann")) {
    expect(event.kind).toBe("task");
    break;
  }

  await agent.last.closed;
});

test("a silent stream can be aborted, which cancels no task", async () => {
  const agent = await agentThat([aTask("SUBMITTED")], "never");
  const remote = await connect(agent.url);
  const controller = new AbortController();
  const seen: PublicEvent[] = [];
  const run = remote.stream("Ann", { signal: controller.signal });

  const reading = (async () => {
    for await (const event of run) {
      seen.push(event);
      controller.abort(new Error("enough"));
    }
  })();

  await expect(reading).rejects.toThrow("enough");
  await expect(run.result).rejects.toThrow("enough");
  expect(seen).toHaveLength(1);
  await agent.last.closed;
  expect(agent.last.call?.method).toBe("SendStreamingMessage");
});

test("reading twice makes one request", async () => {
  const agent = await agentThat([aTask("SUBMITTED"), aStatus("COMPLETED")]);
  const remote = await connect(agent.url);
  const run = remote.stream("Ann");

  expect(await collect(run)).toHaveLength(2);
  expect(await collect(run)).toEqual([]);
  expect(agent.seen.filter(({ call }) => call !== undefined)).toHaveLength(1);
});

test("nothing is sent before the run is read", async () => {
  const agent = await agentThat(HELLO);
  const remote = await connect(agent.url);

  remote.stream("Ann");
  await new Promise((resolve) => setTimeout(resolve, 20));

  expect(agent.seen.filter(({ call }) => call !== undefined)).toEqual([]);
});

test("the result arrives by itself, without a reader of the events", async () => {
  const agent = await agentThat(HELLO);
  const remote = await connect(agent.url);

  const answer = await remote.stream("Ann").result;

  expect(answer).toMatchObject({ text: "Hello", task: { status: { state: "completed" } } });
  expect(answer.question).toBeUndefined();
});

test("the text arrives in deltas that add up to the text of the result", async () => {
  const agent = await agentThat([
    aTask("SUBMITTED"),
    aStatus("WORKING", "looking"),
    aChunk("Hel"),
    aChunk("lo"),
    aChunk("", "a2"),
    aChunk("Bye", "a3"),
    aStatus("COMPLETED", "done"),
  ]);
  const remote = await connect(agent.url);
  const run = remote.stream("Ann");

  const deltas = await collect(run.text);

  expect(deltas).toEqual(["Hel", "lo", "\nBye"]);
  expect(deltas.join("")).toBe((await run.result).text);
});

test("an agent without artifacts is quoted at the end", async () => {
  const agent = await agentThat([
    aTask("SUBMITTED"),
    aStatus("WORKING", "looking"),
    aStatus("COMPLETED", "all done"),
  ]);
  const remote = await connect(agent.url);

  expect(await collect(remote.stream("Ann").text)).toEqual(["all done"]);
});

test("an artifact that begins again says so to a program, and is on a new line for a person", async () => {
  const agent = await agentThat([
    aTask("SUBMITTED"),
    aChunk("Hello, Bob"),
    aChunk("Hello, Ann", "a1", false),
    aChunk("!"),
    aStatus("COMPLETED"),
  ]);
  const remote = await connect(agent.url);
  const run = remote.stream("Ann");

  const pieces = await collect(run.pieces);

  expect(pieces).toEqual([
    { artifactId: "a1", text: "Hello, Bob", replaces: false },
    { artifactId: "a1", text: "Hello, Ann", replaces: true },
    { artifactId: "a1", text: "!", replaces: false },
  ]);
  expect((await run.result).text).toBe("Hello, Ann!");
  const text = await collect(remote.stream("Ann").text);
  expect(text).toEqual(["Hello, Bob", "\nHello, Ann", "!"]);
});

test("an artifact that is sent as a whole again adds what is new", async () => {
  const agent = await agentThat([
    aTask("SUBMITTED"),
    aChunk("Hello"),
    aChunk("Hello, Ann", "a1", false),
    aChunk("Hello, Ann", "a1", false),
    aStatus("COMPLETED"),
  ]);
  const remote = await connect(agent.url);

  const pieces = await collect(remote.stream("Ann").pieces);

  expect(pieces.map(({ text }) => text)).toEqual(["Hello", ", Ann"]);
  expect(pieces.some(({ replaces }) => replaces)).toBe(false);
});

test("text arrives in the order in which it is written, and nothing is taken back for another artifact", async () => {
  const file = "x".repeat(100_000);
  const words = Array.from({ length: 1000 }, (_, index) => `w${index} `);
  const agent = await agentThat([
    aTask("SUBMITTED"),
    aChunk("Words: ", "a1"),
    aChunk(file, "a2"),
    ...words.map((word) => aChunk(word, "a1")),
    aStatus("COMPLETED"),
  ]);
  const remote = await connect(agent.url);
  const run = remote.stream("Ann");

  const [deltas, answer] = await Promise.all([collect(run.text), run.result]);

  expect(deltas.join("")).toBe(`Words: \n${file}\n${words.join("")}`);
  expect(answer.text).toBe(`Words: ${words.join("")}\n${file}`);
});

test("events, text and result are views of one request", async () => {
  const agent = await agentThat(HELLO);
  const remote = await connect(agent.url);
  const run = remote.stream("Ann");

  const [all, text, answer] = await Promise.all([collect(run), collect(run.text), run.result]);

  expect(all).toHaveLength(5);
  expect(text.join("")).toBe("Hello");
  expect(answer.text).toBe("Hello");
  expect(agent.seen.filter(({ call }) => call !== undefined)).toHaveLength(1);
});

test("a later reader gets the state so far as one event, or as one delta", async () => {
  const agent = await agentThat(HELLO);
  const remote = await connect(agent.url);
  const run = remote.stream("Ann");
  await run.result;

  const [task, ...more] = await collect(run);

  expect(task).toMatchObject({ kind: "task", status: { state: "completed" } });
  expect(more).toEqual([]);
  expect(await collect(run.text)).toEqual(["Hello"]);
});

test("leaving one view lets the others continue", async () => {
  const agent = await agentThat(HELLO);
  const remote = await connect(agent.url);
  const run = remote.stream("Ann");
  const { result: answer } = run;

  for await (const event of run) {
    expect(event.kind).toBe("task");
    break;
  }

  expect((await answer).text).toBe("Hello");
});

test("a slow reader of events keeps the run from reading ahead", async () => {
  const many = Array.from({ length: 20_000 }, (_, place) => aChunk(`${place} `.repeat(20)));
  const agent = await agentThat([aTask("SUBMITTED"), ...many, aStatus("COMPLETED")]);
  const remote = await connect(agent.url);
  const run = remote.stream("Ann");
  const text = collect(run.text);
  let isOver = false;
  void run.result.then(() => (isOver = true));
  const reader = run[Symbol.asyncIterator]();

  await reader.next();
  await reader.next();
  await new Promise((resolve) => setTimeout(resolve, 100));

  expect(isOver).toBe(false);
  expect(run.lastEventId).toBe("2");
  expect(run.task?.artifacts?.[0]?.parts[0]).toMatchObject({ text: expect.stringMatching(/^0 /) });
  expect(JSON.stringify(run.task).length).toBeLessThan(1000);
  for (let next = await reader.next(); next.done !== true; next = await reader.next());
  expect((await text).join("")).toBe((await run.result).text);
});

test("an unobserved result does not crash the program", async () => {
  const agent = await agentThat([aTask("SUBMITTED")], "broken");
  const remote = await connect(agent.url);
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);

  const run = remote.stream("Ann", { reconnect: false });
  void run.result;
  await expect(collect(run)).rejects.toThrow();
  await new Promise((resolve) => setTimeout(resolve, 20));

  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

test("a run that was left rejects its result", async () => {
  const agent = await agentThat([aTask("SUBMITTED")], "never");
  const remote = await connect(agent.url);
  const run = remote.stream("Ann");
  for await (const event of run) {
    expect(event.kind).toBe("task");
    break;
  }

  await expect(run.result).rejects.toThrow("the run was left before its answer was complete");
});

test("a run that is disposed of closes its connection", async () => {
  const agent = await agentThat([aTask("SUBMITTED")], "never");
  const remote = await connect(agent.url);
  const run = remote.stream("Ann");
  await run[Symbol.asyncIterator]().next();

  await run[Symbol.asyncDispose]();

  await agent.last.closed;
  expect(await collect(run)).toEqual([]);
});

test("canceling cancels the task at the agent, and the run continues to its end", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) =>
      call.method === "CancelTask"
        ? result(call, { id: "t1", contextId: "c1", status: { state: "TASK_STATE_CANCELED" } })
        : events(call, [aTask("SUBMITTED"), aStatus("CANCELED")]),
  });
  const remote = await connect(agent.url);
  const run = remote.stream("Ann");
  const reading = collect(run);

  const task = await run.cancel();

  expect(task).toMatchObject({ status: { state: "canceled" } });
  expect(outline(await reading)).toEqual(["task submitted", "status canceled"]);
  expect(agent.seen.map(({ call }) => call?.method)).toContain("CancelTask");
});

test("a run that is canceled before it starts does not start", async () => {
  const agent = await agentThat(HELLO);
  const remote = await connect(agent.url);
  const run = remote.stream("Ann");

  expect(await run.cancel()).toBeUndefined();

  expect(await collect(run)).toEqual([]);
  expect(agent.seen.filter(({ call }) => call !== undefined)).toEqual([]);
});

test("a subscription after an event has the whole task in its result", async () => {
  const artifacts = [anArtifact("Hello")];
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call, { headers }) => {
      if (call.method === "GetTask") {
        const { task } = aTask("COMPLETED", { artifacts }) as { task: object };
        return result(call, task);
      }
      expect(headers["last-event-id"]).toBe("9");
      return events(call, [aChunk("lo"), aStatus("COMPLETED")]);
    },
  });
  const remote = await connect(agent.url);

  const run = remote.subscribe("t1", { lastEventId: "0" });
  const resumed = remote.subscribe("t1", { lastEventId: "9" });

  expect(run.lastEventId).toBe("0");
  expect((await resumed.result).text).toBe("Hello");
});
