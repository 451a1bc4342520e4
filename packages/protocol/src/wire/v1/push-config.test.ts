import { describe, expect, test } from "vitest";
import { verifies } from "../../../../../test/verifies.ts";
import { codecV1 } from "./codec.ts";

const URL = "https://hooks.test/tasks";

describe("a push config in 1.0", () => {
  verifies(["R17"], "is created flat, with one scheme", () => {
    const request = codecV1.decodeCreatePushConfig({
      tenant: "acme",
      id: "c1",
      taskId: "t1",
      url: URL,
      token: "secret",
      authentication: { scheme: "Bearer", credentials: "abc" },
      headers: { "X-Custom-Header": "value" },
    });

    expect(request).toStrictEqual({
      taskId: "t1",
      target: {
        id: "c1",
        url: URL,
        token: "secret",
        authentication: { schemes: ["Bearer"], credentials: "abc" },
        headers: { "X-Custom-Header": "value" },
      },
    });
  });

  verifies(["R18"], "may be sent with a message, and then its task is not known yet", () => {
    const message = { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hi" }] };

    const request = codecV1.decodeSendMessage({
      message,
      configuration: { taskPushNotificationConfig: { id: "mine", taskId: "", url: URL } },
    });

    expect(request.pushConfig).toStrictEqual({ id: "mine", url: URL });
  });

  test("treats empty fields as absent, and drops unknown ones", () => {
    const authentication = { scheme: "Bearer", credentials: "" };
    const empty = { id: "", token: "", authentication, tenant: "", colour: "blue" };

    expect(codecV1.decodeCreatePushConfig({ taskId: "t1", url: URL, ...empty }).target).toEqual({
      url: URL,
      authentication: { schemes: ["Bearer"] },
    });
  });

  test("that was sent with several schemes is returned with the first", () => {
    const authentication = { schemes: ["Bearer", "Basic"], credentials: "abc" };

    expect(
      codecV1.encodePushConfig({ taskId: "t1", id: "c1", url: URL, authentication }),
    ).toStrictEqual({
      taskId: "t1",
      id: "c1",
      url: URL,
      authentication: { scheme: "Bearer", credentials: "abc" },
    });
  });

  test("is always requested by name: one set without an id has that of its task", () => {
    expect(codecV1.encodeGetPushConfig({ taskId: "t1" })).toStrictEqual({ taskId: "t1", id: "t1" });
    expect(codecV1.decodePushConfig({ taskId: "t1", url: URL })).toStrictEqual({
      taskId: "t1",
      id: "t1",
      url: URL,
    });
  });

  test("is listed in pages, and deleting one returns an empty object", () => {
    expect(
      codecV1.encodePushConfigPage({
        configs: [{ taskId: "t1", id: "c1", url: URL }],
        nextPageToken: "more",
      }),
    ).toStrictEqual({ configs: [{ taskId: "t1", id: "c1", url: URL }], nextPageToken: "more" });
    expect(codecV1.decodePushConfigPage({})).toStrictEqual({ configs: [], nextPageToken: "" });
    expect(codecV1.encodeDeleted()).toStrictEqual({});
  });

  test("is listed from the start if the token is empty", () => {
    expect(codecV1.decodeListPushConfigs({ taskId: "t1", pageToken: "" })).toStrictEqual({
      taskId: "t1",
    });
  });
});
