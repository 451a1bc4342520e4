import { describe, expect, test } from "vitest";
import { verifies } from "../../../../../test/verifies.ts";
import { codecV03 } from "./codec.ts";

const URL = "https://hooks.test/tasks";

describe("a push config in 0.3", () => {
  verifies(["R17"], "is set with its task next to it, as in the user documents", () => {
    const headers = { Authorization: "Bearer webhook-secret", "X-Custom-Header": "value" };

    const request = codecV03.decodeCreatePushConfig({
      taskId: "t1",
      pushNotificationConfig: { url: URL, token: "secret", headers },
    });

    expect(request).toStrictEqual({
      taskId: "t1",
      target: { url: URL, token: "secret", headers },
    });
  });

  verifies(["R18"], "may be sent with a message", () => {
    const message = { messageId: "m1", role: "user", parts: [{ kind: "text", text: "hi" }] };

    const request = codecV03.decodeSendMessage({
      message,
      configuration: { pushNotificationConfig: { url: URL, id: "mine" } },
    });

    expect(request.pushConfig).toStrictEqual({ url: URL, id: "mine" });
  });

  test("is returned with its task next to it, without absent fields", () => {
    const authentication = { schemes: ["Bearer", "Basic"], credentials: "abc" };

    expect(
      codecV03.encodePushConfig({ taskId: "t1", id: "c1", url: URL, authentication }),
    ).toStrictEqual({
      taskId: "t1",
      pushNotificationConfig: { id: "c1", url: URL, authentication },
    });
  });

  test("is found by the id of its task, with or without its own", () => {
    expect(codecV03.decodeGetPushConfig({ id: "t1" })).toStrictEqual({ taskId: "t1" });
    expect(
      codecV03.decodeGetPushConfig({ id: "t1", pushNotificationConfigId: "c1" }),
    ).toStrictEqual({ taskId: "t1", id: "c1" });
    expect(codecV03.decodeListPushConfigs({ id: "t1" })).toStrictEqual({ taskId: "t1" });
  });

  test("has its task as id or taskId, and the official name wins", () => {
    const pushNotificationConfig = { url: URL };
    const created = (params: object) =>
      codecV03.decodeCreatePushConfig({ ...params, pushNotificationConfig }).taskId;

    expect(created({ id: "t2" })).toBe("t2");
    expect(created({ taskId: "t1", id: "t2" })).toBe("t1");
    expect(codecV03.decodeGetPushConfig({ taskId: "t1" })).toStrictEqual({ taskId: "t1" });
    expect(codecV03.decodeListPushConfigs({ taskId: "t1" })).toStrictEqual({ taskId: "t1" });
    expect(
      codecV03.decodeDeletePushConfig({ taskId: "t1", pushNotificationConfigId: "c1" }),
    ).toStrictEqual({ taskId: "t1", id: "c1" });
  });

  test("has no token if the token is empty, and no unknown fields", () => {
    const { target } = codecV03.decodeCreatePushConfig({
      taskId: "t1",
      pushNotificationConfig: {
        url: URL,
        token: "",
        authentication: { schemes: ["Bearer"], credentials: "", realm: "x" },
        colour: "blue",
      },
    });

    expect(target).toStrictEqual({ url: URL, authentication: { schemes: ["Bearer"] } });
  });

  test("that a server sent without an id has that of its task", () => {
    const sent = { taskId: "t1", pushNotificationConfig: { url: URL } };

    expect(codecV03.decodePushConfig(sent)).toStrictEqual({ taskId: "t1", id: "t1", url: URL });
  });

  test("is listed in a bare list, and deleting one returns null", () => {
    const config = { taskId: "t1", id: "c1", url: URL };

    expect(
      codecV03.encodePushConfigPage({ configs: [config], nextPageToken: "more" }),
    ).toStrictEqual([{ taskId: "t1", pushNotificationConfig: { id: "c1", url: URL } }]);
    expect(codecV03.encodeDeleted()).toBeNull();
  });

  test("in anything but a list is an error of the agent", () => {
    expect(() => codecV03.decodePushConfigPage({ configs: [] })).toThrow(
      expect.objectContaining({ reason: "InvalidAgentResponse" }),
    );
  });
});
