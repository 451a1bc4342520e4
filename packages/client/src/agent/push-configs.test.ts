import { expect, test } from "vitest";
import { connect } from "./connect.ts";
import {
  type Call,
  events,
  failure,
  pagesV03,
  pagesV1,
  result,
  startFakeAgent,
} from "../../../../test/client/fake-agent.ts";

const URL = "https://hooks.test/tasks";
const TARGET = {
  id: "c1",
  url: URL,
  token: "secret",
  authentication: { schemes: ["Bearer"], credentials: "abc" },
};
const CONFIG = { taskId: "t1", ...TARGET };

const WIRE_V1 = {
  taskId: "t1",
  id: "c1",
  url: URL,
  token: "secret",
  authentication: { scheme: "Bearer", credentials: "abc" },
};
const WIRE_V03 = { taskId: "t1", pushNotificationConfig: TARGET };

test("push configs are set, read and deleted in 1.0, with the tenant of the card", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1({
      supportedInterfaces: [
        { url: "/", protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "acme" },
      ],
    }),
    answer: (call) => result(call, call.method.startsWith("Delete") ? {} : WIRE_V1),
  });
  const remote = await connect(agent.url);

  expect(await remote.push.set("t1", TARGET)).toStrictEqual(CONFIG);
  expect(agent.last.call).toMatchObject({
    method: "CreateTaskPushNotificationConfig",
    params: { ...WIRE_V1, tenant: "acme" },
  });
  expect(await remote.push.get("t1", "c1")).toStrictEqual(CONFIG);
  expect(agent.last.call).toMatchObject({
    method: "GetTaskPushNotificationConfig",
    params: { taskId: "t1", id: "c1", tenant: "acme" },
  });
  expect(await remote.push.delete("t1", "c1")).toBeUndefined();
  expect(agent.last.call).toMatchObject({
    method: "DeleteTaskPushNotificationConfig",
    params: { taskId: "t1", id: "c1", tenant: "acme" },
  });
});

test("push configs are set, read, listed and deleted in 0.3", async () => {
  const answers: Readonly<Record<string, unknown>> = {
    "tasks/pushNotificationConfig/list": [WIRE_V03],
    "tasks/pushNotificationConfig/delete": null,
  };
  const answerOf = ({ method }: Call) => (method in answers ? answers[method] : WIRE_V03);
  const agent = await startFakeAgent({
    pages: pagesV03(),
    answer: (call) => result(call, answerOf(call)),
  });
  const remote = await connect(agent.url);

  expect(await remote.push.set("t1", TARGET)).toStrictEqual(CONFIG);
  expect(agent.last.call).toMatchObject({
    method: "tasks/pushNotificationConfig/set",
    params: WIRE_V03,
  });
  expect(await remote.push.get("t1")).toStrictEqual(CONFIG);
  expect(agent.last.call?.method).toBe("tasks/pushNotificationConfig/get");
  expect(agent.last.call?.params).toEqual({ id: "t1" });
  expect(await remote.push.list("t1")).toStrictEqual([CONFIG]);
  expect(agent.last.call?.params).toEqual({ id: "t1" });
  expect(await remote.push.delete("t1", "c1")).toBeUndefined();
  expect(agent.last.call).toMatchObject({
    method: "tasks/pushNotificationConfig/delete",
    params: { id: "t1", pushNotificationConfigId: "c1" },
  });
});

test("a list in 1.0 is read to its last page", async () => {
  const pages = [
    { configs: [{ ...WIRE_V1, id: "a" }], nextPageToken: "more" },
    { configs: [{ ...WIRE_V1, id: "b" }] },
  ];
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => result(call, pages.shift()),
  });
  const remote = await connect(agent.url);

  const configs = await remote.push.list("t1");

  expect(configs.map(({ id }) => id)).toEqual(["a", "b"]);
  expect(agent.seen.slice(1).map(({ call }) => call?.params)).toEqual([
    { taskId: "t1" },
    { taskId: "t1", pageToken: "more" },
  ]);
});

test("an agent that repeats a page token ends the list of configs", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) => result(call, { configs: [{ ...WIRE_V1, id: "a" }], nextPageToken: "same" }),
  });
  const remote = await connect(agent.url);

  expect(await remote.push.list("t1")).toHaveLength(2);
});

test("a config is sent with a message, blocking or streamed, in the format of each version", async () => {
  const message = {
    v1: { message: { messageId: "m2", role: "ROLE_AGENT", parts: [{ text: "Hi" }] } },
    v03: { kind: "message", messageId: "m2", role: "agent", parts: [{ kind: "text", text: "Hi" }] },
  };
  for (const [pages, reply, configuration] of [
    [pagesV1(), message.v1, { taskPushNotificationConfig: { url: URL } }],
    [pagesV03(), message.v03, { blocking: true, pushNotificationConfig: { url: URL } }],
  ] as const) {
    const agent = await startFakeAgent({
      pages,
      answer: (call) => (/stream/i.test(call.method) ? events(call, [reply]) : result(call, reply)),
    });
    const remote = await connect(agent.url);

    await remote.send("Ann", { pushConfig: { url: URL } });
    expect(agent.last.call?.params["configuration"]).toEqual(configuration);
    for await (const _ of remote.stream("Ann", { pushConfig: { url: URL } }));
    expect(agent.last.call?.params["configuration"]).toEqual(configuration);
  }
});

test("an agent without push notifications returns its own error, and an invalid response is not accepted as a config", async () => {
  const agent = await startFakeAgent({
    pages: pagesV1(),
    answer: (call) =>
      call.method.startsWith("Get")
        ? result(call, { success: true })
        : failure(call, { code: -32003, message: "Push Notification is not supported" }),
  });
  const remote = await connect(agent.url);

  await expect(remote.push.set("t1", TARGET)).rejects.toMatchObject({
    name: "RemoteError",
    code: -32003,
  });
  await expect(remote.push.get("t1")).rejects.toMatchObject({
    kind: "unreadable",
    message: expect.stringContaining("the push config has no taskId or no url"),
  });
});
