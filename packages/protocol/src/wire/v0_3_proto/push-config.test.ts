import { describe, expect, test } from "vitest";
import { codecV03Proto as codec } from "./codec.ts";

const URL = "https://hooks.test/a2a";
const NAME = "tasks/t1/pushNotificationConfigs/c1";

describe("a push config in the ProtoJSON of 0.3", () => {
  test("is set for the task that is its parent", () => {
    const config = {
      name: NAME,
      pushNotificationConfig: {
        id: "c1",
        url: URL,
        token: "secret",
        authentication: { schemes: ["Bearer"], credentials: "x" },
      },
    };

    expect(
      codec.decodeCreatePushConfig({ parent: "tasks/t1", configId: "c1", config }),
    ).toStrictEqual({ taskId: "t1", target: config.pushNotificationConfig });
  });

  test("has the id of the request if it has none itself", () => {
    const target = { id: "c1", url: URL };

    for (const config of [
      { pushNotificationConfig: { url: URL } },
      { push_notification_config: { id: "", url: URL, token: "" } },
      { name: "tasks/other/pushNotificationConfigs/", pushNotificationConfig: { url: URL } },
      { url: URL },
    ]) {
      expect(
        codec.decodeCreatePushConfig({ parent: "tasks/t1", config_id: "c1", config }),
      ).toStrictEqual({ taskId: "t1", target });
    }
  });

  test("may have no id, and then gets one", () => {
    const params = {
      parent: "tasks/t1",
      configId: "",
      config: { pushNotificationConfig: { url: URL } },
    };

    expect(codec.decodeCreatePushConfig(params)).toStrictEqual({
      taskId: "t1",
      target: { url: URL },
    });
    expect(codec.encodeCreatePushConfig({ taskId: "t1", target: { url: URL } })).toEqual({
      parent: "tasks/t1",
      config: { pushNotificationConfig: { url: URL } },
    });
  });

  test("is found by its name", () => {
    expect(codec.decodeGetPushConfig({ name: NAME })).toEqual({ taskId: "t1", id: "c1" });
    expect(codec.decodeDeletePushConfig({ name: NAME })).toEqual({ taskId: "t1", id: "c1" });
    expect(codec.encodeGetPushConfig({ taskId: "t1" })).toEqual({
      name: "tasks/t1/pushNotificationConfigs/t1",
    });
  });

  test("may have an id that its owner chose", () => {
    const id = "https://hooks.test/a";

    expect(codec.decodeGetPushConfig({ name: `tasks/t1/pushNotificationConfigs/${id}` })).toEqual({
      taskId: "t1",
      id,
    });
  });

  test("is listed in pages", () => {
    expect(codec.decodeListPushConfigs({ parent: "tasks/t1" })).toEqual({ taskId: "t1" });
    expect(
      codec.decodeListPushConfigs({ parent: "tasks/t1", page_size: "5", pageToken: "more" }),
    ).toEqual({ taskId: "t1", pageSize: 5, pageToken: "more" });
    expect(
      codec.decodeListPushConfigs({ parent: "tasks/t1", pageSize: 0, pageToken: "" }),
    ).toStrictEqual({ taskId: "t1" });
    expect(
      codec.encodePushConfigPage({
        configs: [{ taskId: "t1", id: "c1", url: URL }],
        nextPageToken: "more",
      }),
    ).toEqual({
      configs: [{ name: NAME, pushNotificationConfig: { id: "c1", url: URL } }],
      nextPageToken: "more",
    });
    expect(codec.decodePushConfigPage({})).toEqual({ configs: [], nextPageToken: "" });
  });

  test("is deleted with an empty response", () => {
    expect(codec.encodeDeleted()).toEqual({});
  });

  test.each([
    ["tasks/t1/pushNotificationConfigs/", ""],
    ["tasks/t1", ""],
    [NAME, "c1"],
  ])("of a server that names it %j with the id %j has an id", (name, id) => {
    const config = codec.decodePushConfig({ name, pushNotificationConfig: { id, url: URL } });

    expect(config).toEqual({ taskId: "t1", id: id || "t1", url: URL });
  });
});

describe("errors name what is wrong", () => {
  const config = { pushNotificationConfig: { id: "c1", url: URL } };

  test.each([
    [{}, "parent is required"],
    [{ parent: "t1", config }, "parent must be tasks/{id}"],
    [{ parent: "tasks/t1" }, "config is required"],
    [{ parent: "tasks/t1", config: {} }, "config.pushNotificationConfig must be an object"],
    [
      { parent: "tasks/t1", config: { pushNotificationConfig: { url: "" } } },
      "config.pushNotificationConfig.url must not be empty",
    ],
    [
      { parent: "tasks/t1", configId: "c2", config },
      "configId must be the id that the config has, or be left out",
    ],
  ])("in the request %j to set one", (params, detail) => {
    expect(() => codec.decodeCreatePushConfig(params)).toThrow(
      expect.objectContaining({ reason: "InvalidParams", detail }),
    );
  });

  test.each(["", "tasks/t1", "tasks/t1/pushNotificationConfigs/", "pushNotificationConfigs/c1"])(
    "in the name %j of one",
    (name) => {
      const wrong = expect.objectContaining({
        reason: "InvalidParams",
        field: "name",
        detail: "name must be tasks/{id}/pushNotificationConfigs/{configId}",
      });

      expect(() => codec.decodeGetPushConfig({ name })).toThrow(wrong);
      expect(() => codec.decodeDeletePushConfig({ name })).toThrow(wrong);
    },
  );

  test("in an id that is too long, and in a page that is too large", () => {
    const name = `tasks/t1/pushNotificationConfigs/${"x".repeat(257)}`;

    expect(() => codec.decodeGetPushConfig({ name })).toThrow(
      "configId must not have more than 256 characters",
    );
    expect(() => codec.decodeListPushConfigs({ parent: "tasks/t1", pageSize: 101 })).toThrow(
      expect.objectContaining({ field: "pageSize" }),
    );
    expect(() => codec.decodeListPushConfigs({ parent: "t1" })).toThrow(
      "parent must be tasks/{id}",
    );
  });
});
