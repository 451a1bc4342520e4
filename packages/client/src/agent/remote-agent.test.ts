import { userMessage } from "@convoke/protocol";
import { expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { connect } from "./connect.ts";
import type { RemoteAgent } from "./remote-agent.ts";
import {
  failure,
  json,
  pagesV03,
  pagesV1,
  result,
  startFakeAgent,
} from "../../../../test/client/fake-agent.ts";

const TASK_V1 = {
  id: "t1",
  contextId: "c1",
  status: { state: "TASK_STATE_COMPLETED", timestamp: "2026-01-01T00:00:00.000Z" },
  artifacts: [{ artifactId: "a1", parts: [{ text: "Hello, Ann!" }] }],
};

const TASK_V03 = {
  kind: "task",
  id: "t1",
  contextId: "c1",
  status: { state: "completed" },
  artifacts: [{ artifactId: "a1", parts: [{ kind: "text", text: "Hello, Ann!" }] }],
};

test("send in 1.0 returns the text and the task", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => result(call, { task: TASK_V1 }),
  });
  const remote = await connect(agent.url);

  const answer = await remote.send("Ann", { contextId: "c1", taskId: "t1", messageId: "m1" });

  expect(answer.text).toBe("Hello, Ann!");
  expect(answer.task).toMatchObject({ kind: "task", id: "t1", status: { state: "completed" } });
  expect(agent.last.headers["a2a-version"]).toBe("1.0");
  expect(agent.last.call).toMatchObject({
    jsonrpc: "2.0",
    method: "SendMessage",
    params: {
      message: {
        messageId: "m1",
        role: "ROLE_USER",
        contextId: "c1",
        taskId: "t1",
        parts: [{ text: "Ann" }],
      },
    },
  });
});

test("send in 0.3 returns the text and the task", async () => {
  const agent = await startFakeAgent({
    pages: pagesV03(),
    answer: (call) => result(call, TASK_V03),
  });
  const remote = await connect(agent.url);

  const answer = await remote.send([{ kind: "text", text: "Ann" }]);

  expect(answer.text).toBe("Hello, Ann!");
  expect(answer.task?.status.state).toBe("completed");
  expect(agent.last.headers["a2a-version"]).toBe("0.3");
  expect(agent.last.call).toMatchObject({
    method: "message/send",
    params: { message: { kind: "message", role: "user" }, configuration: { blocking: true } },
  });
});

test("an answer without a task is a message", async () => {
  const message = {
    kind: "message",
    messageId: "m2",
    role: "agent",
    parts: [{ kind: "text", text: "Hi" }],
  };
  const agent = await startFakeAgent({
    pages: pagesV03(),
    answer: (call) => result(call, message),
  });
  const remote = await connect(agent.url);

  expect(await remote.send("Ann")).toEqual({ text: "Hi", message });
});

test("a complete message is sent unchanged", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => result(call, { task: TASK_V1 }),
  });
  const remote = await connect(agent.url);

  await remote.send({
    kind: "message",
    messageId: "mine",
    role: "user",
    parts: [{ kind: "data", data: [1, 2] }],
    metadata: { colour: "blue" },
  });

  expect(agent.last.call?.params["message"]).toEqual({
    messageId: "mine",
    role: "ROLE_USER",
    parts: [{ data: [1, 2] }],
    metadata: { colour: "blue" },
  });
});

for (const [version, pages, task] of [
  ["1.0", pagesV1(), { task: TASK_V1 }],
  ["0.3", pagesV03(), TASK_V03],
] as const) {
  const sentIds = async (say: (remote: RemoteAgent) => Promise<unknown>) => {
    const agent = await startFakeAgent({ pages, answer: (call) => result(call, task) });
    const remote = await connect(agent.url);
    await say(remote);
    return agent.seen.flatMap(({ call }) => {
      const message = call?.params["message"] as { readonly messageId: string } | undefined;
      return message === undefined ? [] : [message.messageId];
    });
  };

  verifies("R12", `each message has a unique id, also with equal text (${version})`, async () => {
    const ids = await sentIds((remote) =>
      Promise.all([
        remote.send("Ann"),
        remote.send("Ann"),
        remote.send([{ kind: "text", text: "Ann" }]),
        remote.send("Ann", { contextId: "c1" }),
        remote.send("Ann", { contextId: "c1", taskId: "t1" }),
      ]),
    );

    expect(ids).toHaveLength(5);
    expect(new Set(ids).size).toBe(5);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/);
  });

  verifies("R12", `an id that the caller chose is kept (${version})`, async () => {
    const message = userMessage("mine", "Ann");

    const ids = await sentIds(async (remote) => {
      await remote.send("Ann", { messageId: "chosen" });
      await remote.send("Ann", { messageId: "chosen" });
      await remote.send(message);
      await remote.send(message, { messageId: "chosen after all" });
    });

    expect(ids).toEqual(["chosen", "chosen", "mine", "chosen after all"]);
  });
}

test("every request of a client has its own id", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => result(call, TASK_V1),
  });
  const remote = await connect(agent.url);

  await Promise.all([remote.get("t1"), remote.get("t1"), remote.cancel("t1")]);

  expect(new Set(agent.seen.map(({ call }) => call?.id)).size).toBe(agent.seen.length);
});

test("get, list and cancel work in 1.0, with the tenant of the card", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1({
      supportedInterfaces: [
        { url: "/", protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "acme" },
      ],
    }),
    answer: (call) =>
      call.method === "ListTasks"
        ? result(call, { tasks: [TASK_V1], nextPageToken: "more", pageSize: 1, totalSize: 2 })
        : result(call, TASK_V1),
  });
  const remote = await connect(agent.url);

  expect((await remote.get("t1", { historyLength: 2 })).id).toBe("t1");
  expect(agent.last.call).toMatchObject({
    method: "GetTask",
    params: { id: "t1", historyLength: 2, tenant: "acme" },
  });
  expect((await remote.cancel("t1")).status.state).toBe("completed");
  expect(agent.last.call).toMatchObject({ method: "CancelTask", params: { id: "t1" } });
  expect(await remote.list({ state: "working", pageSize: 1 })).toMatchObject({
    tasks: [{ kind: "task", id: "t1" }],
    nextPageToken: "more",
    totalSize: 2,
  });
  expect(agent.last.call).toMatchObject({
    method: "ListTasks",
    params: { status: "TASK_STATE_WORKING", pageSize: 1, tenant: "acme" },
  });
});

test("get and cancel work in 0.3, and listing says that it needs 1.0", async () => {
  const agent = await startFakeAgent({
    pages: pagesV03(),
    answer: (call) => result(call, TASK_V03),
  });
  const remote = await connect(agent.url);

  expect(await remote.get("t1")).toEqual(TASK_V03);
  expect(agent.last.call?.method).toBe("tasks/get");
  expect(await remote.cancel("t1")).toEqual(TASK_V03);
  expect(agent.last.call?.method).toBe("tasks/cancel");
  await expect(remote.list()).rejects.toThrow("listing tasks needs A2A 1.0");
});

test("an error keeps the text, the code and the data of the agent", async () => {
  const error = { code: -32001, message: "Task not found: t9", data: { taskId: "t9" } };
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => failure(call, error),
  });
  const remote = await connect(agent.url);

  await expect(remote.get("t9")).rejects.toMatchObject({
    name: "RemoteError",
    ...error,
    httpStatus: 200,
  });
});

verifies(
  "R44",
  "an HTTP error keeps its status and the server's text, in JSON or not",
  async () => {
    const replies = [
      json({ jsonrpc: "2.0", id: null, error: { code: -32603, message: "Unauthorized" } }, 401),
      json({ code: -32600, message: "too big" }, 413),
      { status: 502, body: "the agent is gone" },
      { status: 503 },
    ];
    const agent = await startFakeAgent({
      pages: pagesV1(),
      answer: () => replies.shift() ?? {},
    });
    const remote = await connect(agent.url, { retry: false });

    await expect(remote.get("t1")).rejects.toMatchObject({
      message: "Unauthorized",
      code: -32603,
      httpStatus: 401,
    });
    await expect(remote.get("t1")).rejects.toMatchObject({ message: "too big", httpStatus: 413 });
    await expect(remote.get("t1")).rejects.toMatchObject({
      message: "HTTP 502 Bad Gateway: the agent is gone",
      code: undefined,
      httpStatus: 502,
    });
    await expect(remote.get("t1")).rejects.toThrow("HTTP 503 Service Unavailable");
  },
);

test("a response that is not A2A is reported as such", async () => {
  const answers = ["<html>", "{}", '{"result":{"task":{}}}', '{"result":{"surprise":1}}'];
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: () => ({ body: answers.shift() ?? "" }),
  });
  const remote = await connect(agent.url);
  const problems = ["is not JSON", "has neither result nor error", "the task has no id", "member"];

  for (const problem of problems) {
    await expect(remote.send("a")).rejects.toMatchObject({
      kind: "unreadable",
      message: expect.stringContaining(problem),
    });
  }
});

test("a call can be aborted while the agent works", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: () => ({ body: "{", end: "never" }),
  });
  const remote = await connect(agent.url);
  const signal = AbortSignal.timeout(50);

  await expect(remote.send("a", { signal })).rejects.toThrow(/aborted due to timeout/);
});
