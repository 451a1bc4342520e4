import type { PublicEvent } from "@convoke/protocol";
import { expect, test } from "vitest";
import { connect } from "./connect.ts";
import {
  events,
  failure,
  pagesV03,
  pagesV1,
  startFakeAgent,
  stream,
} from "./testing/fake-agent.suite.ts";

const task = { id: "t1", contextId: "c1", status: { state: "TASK_STATE_SUBMITTED" } };
const ids = { taskId: "t1", contextId: "c1" };
const chunk = (text: string) => ({
  artifactUpdate: { ...ids, artifact: { artifactId: "a1", parts: [{ text }] }, append: true },
});
const status = (state: string) => ({ statusUpdate: { ...ids, status: { state } } });

async function collect(source: AsyncIterable<PublicEvent>): Promise<PublicEvent[]> {
  const seen: PublicEvent[] = [];
  for await (const event of source) seen.push(event);
  return seen;
}

test("a 1.0 stream gives the events in the model's words and the id of each", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) =>
      events(call, [
        { task },
        status("TASK_STATE_WORKING"),
        chunk("Hel"),
        chunk("lo"),
        status("TASK_STATE_COMPLETED"),
      ]),
  });
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
  expect(agent.last.call?.method).toBe("SendStreamingMessage");
  expect(agent.last.headers["accept"]).toBe("text/event-stream");
});

test("a 0.3 stream ends at final, also when the server forgets to close", async () => {
  const final = {
    kind: "status-update",
    ...ids,
    status: { state: "input-required" },
    final: true,
  };
  const agent = await startFakeAgent({
    pages: pagesV03(),
    answer: (call) =>
      events(call, [{ kind: "task", ...task, status: { state: "submitted" } }, final], "never"),
  });
  const remote = await connect(agent.url);

  const seen = await collect(remote.stream("Ann"));

  expect(seen.map(({ kind }) => kind)).toEqual(["task", "status-update"]);
  expect(agent.last.call?.method).toBe("message/stream");
  await agent.last.closed;
});

test("a 1.0 stream goes on after a question, when the server keeps it open", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) =>
      events(
        call,
        [{ task }, status("TASK_STATE_INPUT_REQUIRED"), status("TASK_STATE_COMPLETED")],
        "never",
      ),
  });
  const remote = await connect(agent.url);

  expect(await collect(remote.subscribe("t1"))).toHaveLength(3);
});

test("a message is the whole answer", async () => {
  const message = { messageId: "m1", role: "ROLE_AGENT", parts: [{ text: "Hi" }] };
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => events(call, [{ message }], "never"),
  });
  const remote = await connect(agent.url);

  expect(await collect(remote.stream("Ann"))).toMatchObject([{ kind: "message", role: "agent" }]);
});

test("a subscription sends the last id and stays resumable before its first event", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call, { headers }) =>
      headers["last-event-id"] === "9" ? events(call, []) : events(call, [{ task }]),
  });
  const remote = await connect(agent.url);

  const run = remote.subscribe("t1", { lastEventId: "9" });

  expect(await collect(run)).toEqual([]);
  expect(run.lastEventId).toBe("9");
  expect(agent.last.call).toMatchObject({ method: "SubscribeToTask", params: { id: "t1" } });
});

test("a stream that the server closes early just ends, and says where", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => events(call, [{ task }, chunk("Hel")]),
  });
  const remote = await connect(agent.url);

  const run = remote.stream("Ann");

  expect(await collect(run)).toHaveLength(2);
  expect(run.lastEventId).toBe("2");
});

test("a broken connection is an error that names the address, and says where", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => events(call, [{ task }, chunk("Hel")], "broken"),
  });
  const remote = await connect(agent.url);

  const run = remote.stream("Ann");

  await expect(collect(run)).rejects.toMatchObject({
    kind: "unreachable",
    message: expect.stringContaining(`the connection to ${agent.url}/ was lost`),
  });
  expect(run.lastEventId).toBe("2");
});

test("a refusal in plain JSON is the agent's error", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => failure(call, { code: -32004, message: "no streaming here" }),
  });
  const remote = await connect(agent.url);

  await expect(collect(remote.stream("Ann"))).rejects.toMatchObject({
    name: "RemoteError",
    code: -32004,
    message: "no streaming here",
  });
});

test("an error inside the stream is the agent's error, named frame or not", async () => {
  const error = { code: -32603, message: "it broke" };
  const bodies = [
    `event: error\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: 1, error })}\n\n`,
    `event: error\ndata: ${JSON.stringify(error)}\n\n`,
    `data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, error })}\n\n`,
  ];
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: () => stream(bodies.shift() ?? ""),
  });
  const remote = await connect(agent.url);

  for (let count = 0; count < 3; count += 1) {
    await expect(collect(remote.stream("Ann"))).rejects.toMatchObject({
      name: "RemoteError",
      ...error,
    });
  }
});

test("leaving the loop closes the connection", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => events(call, [{ task }], "never"),
  });
  const remote = await connect(agent.url);

  for await (const event of remote.stream("Ann")) {
    expect(event.kind).toBe("task");
    break;
  }

  await agent.last.closed;
});

test("a stream can be aborted while it is silent", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => events(call, [{ task }], "never"),
  });
  const remote = await connect(agent.url);
  const controller = new AbortController();
  const seen: PublicEvent[] = [];

  const reading = (async () => {
    for await (const event of remote.stream("Ann", { signal: controller.signal })) {
      seen.push(event);
      controller.abort(new Error("enough"));
    }
  })();

  await expect(reading).rejects.toThrow("enough");
  expect(seen).toHaveLength(1);
  await agent.last.closed;
});

test("reading twice asks once", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => events(call, [{ task }, status("TASK_STATE_COMPLETED")]),
  });
  const remote = await connect(agent.url);
  const run = remote.stream("Ann");

  expect(await collect(run)).toHaveLength(2);
  expect(await collect(run)).toEqual([]);
  expect(agent.seen.filter(({ call }) => call !== undefined)).toHaveLength(1);
});
