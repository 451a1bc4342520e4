import { describe, expect, test } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";
import { verifies } from "../verifies.ts";
import { DIALECTS } from "../wire/dialect.ts";
import { outline } from "../wire/story.ts";
import { WireClient } from "../wire/wire-client.ts";
import { useServer } from "../wire/wire-server.ts";
import { RestClient, faultOf, valueOf } from "./rest-client.ts";
import { OFFICIAL, PROTO_03, REST_DIALECTS, V1 } from "./rest-dialect.ts";

const HOOK = "https://hooks.example.com/a";

const server = useServer();

describe.each(REST_DIALECTS)("in $name", (dialect) => {
  const client = new RestClient(server, dialect);
  /** The same version over JSON-RPC. */
  const rpc = new WireClient(
    server,
    DIALECTS.find(({ version }) => version === dialect.codec.version)!,
  );

  verifies(["R20", "R21"], "a send returns the task and its artifacts", async () => {
    const task = await client.sendTask("artifact");

    expect(task.status.state).toBe("completed");
    expect(task.artifacts).toHaveLength(3);
    expect(task).toEqual(await rpc.get(task.id));
  });

  verifies("R20", "a send returns a message if the agent replied directly", async () => {
    const answer = await client.send("message");

    expect(dialect.codec.decodeSendResult(valueOf(answer))).toMatchObject({
      kind: "message",
      role: "agent",
      parts: [{ text: "This is one message, and there is no task behind it." }],
    });
  });

  verifies("R20", "a send that does not wait returns while the task is open", async () => {
    const task = await client.sendTask("slow 1000", { configuration: dialect.atOnce });

    expect(["submitted", "working"]).toContain(task.status.state);
    await client.post(`tasks/${task.id}:cancel`, undefined);
  });

  verifies("R20", "a send continues the task that it names", async () => {
    const asked = await client.sendTask("ask");
    const answered = await client.sendTask("Ann", { message: { taskId: asked.id } });

    expect(asked.status.state).toBe("input-required");
    expect(answered).toMatchObject({ id: asked.id, status: { state: "completed" } });
  });

  verifies("R20", "a get returns the task, and as much history as requested", async () => {
    const asked = await client.sendTask("ask");
    const task = await client.sendTask("Ann", { message: { taskId: asked.id } });

    expect(await client.getTask(task.id)).toEqual(await rpc.get(task.id));
    expect((await client.getTask(task.id, "?historyLength=1")).history).toHaveLength(1);
  });

  verifies("R20", "names may also be those of the proto, in queries and bodies", async () => {
    const asked = await client.sendTask("ask");
    const message = { task_id: asked.id, context_id: asked.contextId };
    const task = await client.sendTask("Ann", { message });

    expect(task).toMatchObject({ id: asked.id, status: { state: "completed" } });
    expect((await client.getTask(task.id, "?history_length=1")).history).toHaveLength(1);
    expect(
      (await client.getTask(task.id, "?history_length=1&historyLength=1")).history,
    ).toHaveLength(1);
    const twice = await client.get(`tasks/${task.id}?history_length=1&historyLength=2`);
    expect(faultOf(twice)).toMatchObject({
      status: 400,
      message: expect.stringContaining("historyLength"),
    });
  });

  test("a push config may have an empty authentication", async () => {
    const { id } = await client.sendTask("ask");
    const authentication = dialect === V1 ? undefined : {};
    const body = { url: HOOK, authentication };

    const answer = await client.post(`tasks/${id}/pushNotificationConfigs`, body);

    expect(answer.status).toBe(200);
    expect(answer.text).toContain(HOOK);
    expect(answer.text).not.toContain("authentication");
  });

  test("a doubled slash in a path counts as one", async () => {
    const { id } = await client.sendTask("hello");

    expect(valueOf(await client.get(`/tasks//${id}`))).toEqual(
      valueOf(await client.get(`tasks/${id}`)),
    );
  });

  for (const body of [undefined, {}, { metadata: { why: "enough" } }]) {
    verifies(
      "R20",
      `a cancel with ${JSON.stringify(body) ?? "no body"} ends the task`,
      async () => {
        const { id } = await client.sendTask("ask");

        const answer = await client.post(`tasks/${id}:cancel`, body);

        expect(valueOf(answer)).toMatchObject({ id, status: { state: dialect.canceled } });
        expect((await rpc.get(id)).status.state).toBe("canceled");
      },
    );
  }

  for (const method of ["GET", "POST"]) {
    verifies("R20", `a subscription via ${method} returns the task and what follows`, async () => {
      const asked = await client.sendTask("ask");

      const stream = await new RestClient(server, {
        ...dialect,
        // There is no body that could be in another dialect.
        codec: dialect.getCodec,
      }).open(`tasks/${asked.id}:subscribe`, { method });
      await stream.take(1);
      await client.send("Ann", { message: { taskId: asked.id } });

      expect(outline(await stream.events())).toEqual([
        "task input-required",
        "status working",
        "artifact Hello, Ann!",
        "status completed",
      ]);
    });
  }
});

describe.each(OFFICIAL)("push configs in $name", (dialect) => {
  const client = new RestClient(server, dialect);
  const { codec } = dialect;

  verifies(["R17", "R20"], "are set, read, listed and deleted", async () => {
    const { id: taskId } = await client.sendTask("ask");
    const path = `tasks/${taskId}/pushNotificationConfigs`;
    const target = { id: "first", url: HOOK, token: "t" };
    const body = dialect === V1 ? target : { pushNotificationConfig: target };

    const set = codec.decodePushConfig(valueOf(await client.post(path, body)));
    const got = codec.decodePushConfig(valueOf(await client.get(`${path}/first`)));
    const listed = codec.decodePushConfigPage(valueOf(await client.get(path)));
    const deleted = await client.ask(`${path}/first`, { method: "DELETE" });
    const left = codec.decodePushConfigPage(valueOf(await client.get(path)));

    expect(set).toEqual({ taskId, ...target });
    expect(got).toEqual(set);
    expect(listed.configs).toEqual([set]);
    expect(deleted).toMatchObject({ status: 204, text: "" });
    expect(deleted.headers.get("content-type")).toBeNull();
    expect(left.configs).toEqual([]);
    expect((await client.get(`${path}/first`)).status).toBe(404);
  });

  verifies("R20", "are listed page by page", async () => {
    const { id: taskId } = await client.sendTask("ask");
    const path = `tasks/${taskId}/pushNotificationConfigs`;
    for (const id of ["a", "b", "c"]) {
      const target = { id, url: HOOK };
      valueOf(await client.post(path, dialect === V1 ? target : { config: target }));
    }

    const first = codec.decodePushConfigPage(valueOf(await client.get(`${path}?pageSize=2`)));
    const token = encodeURIComponent(first.nextPageToken);
    const rest = codec.decodePushConfigPage(
      valueOf(await client.get(`${path}?pageSize=2&pageToken=${token}`)),
    );

    expect(first.configs).toHaveLength(2);
    expect([...first.configs, ...rest.configs].map(({ id }) => id).toSorted()).toEqual([
      "a",
      "b",
      "c",
    ]);
    expect(rest.nextPageToken).toBe("");
  });

  verifies("R17", "keep an id that needs to be encoded in the path", async () => {
    const { id: taskId } = await client.sendTask("ask");
    const path = `tasks/${taskId}/pushNotificationConfigs`;
    const id = "a/b c%2F:ü?#";
    const target = { id, url: HOOK };
    valueOf(await client.post(path, dialect === V1 ? target : { pushNotificationConfig: target }));

    const got = codec.decodePushConfig(
      valueOf(await client.get(`${path}/${encodeURIComponent(id)}`)),
    );

    expect(got.id).toBe(id);
  });
});

describe("a config that is set in 0.3", () => {
  const client = new RestClient(server, PROTO_03);
  const target = { url: HOOK, token: "t" };

  for (const [what, body, query, id] of [
    [
      "a TaskPushNotificationConfig",
      { name: "tasks/x/pushNotificationConfigs/c", pushNotificationConfig: { id: "c", ...target } },
      "",
      "c",
    ],
    [
      "a TaskPushNotificationConfig, with its id in the query",
      { pushNotificationConfig: target },
      "?configId=q",
      "q",
    ],
    [
      "a CreateTaskPushNotificationConfigRequest",
      { configId: "d", config: { pushNotificationConfig: target } },
      "",
      "d",
    ],
    ["a config with the target in it", { config: { id: "e", ...target } }, "", "e"],
    ["the target alone", { id: "f", ...target }, "", "f"],
  ] as const) {
    verifies("R17", `may be ${what}`, async () => {
      const { id: taskId } = await client.sendTask("ask");

      const answer = await client.post(`tasks/${taskId}/pushNotificationConfigs${query}`, body);

      expect(valueOf(answer)).toEqual({
        name: `tasks/${taskId}/pushNotificationConfigs/${id}`,
        pushNotificationConfig: { id, ...target },
      });
    });
  }
});

describe("the list of tasks", () => {
  verifies("R20", "is available in 1.0, with filter and page", async () => {
    const client = new RestClient(server, V1);
    const contextId = `list-${Math.random()}`;
    for (const text of ["hello", "fail", "artifact"]) {
      await client.sendTask(text, { message: { contextId } });
    }
    const query = `contextId=${contextId}`;

    const all = valueOf(await client.get(`tasks?${query}`));
    const failed = valueOf(await client.get(`tasks?${query}&status=TASK_STATE_FAILED`));
    const page = valueOf(
      await client.get(`tasks?${query}&pageSize=1&includeArtifacts=true&historyLength=0`),
    ) as { readonly nextPageToken: string };
    const next = valueOf(
      await client.get(
        `tasks?${query}&pageSize=1&pageToken=${encodeURIComponent(page.nextPageToken)}`,
      ),
    );
    const none = valueOf(
      await client.get(`tasks?${query}&statusTimestampAfter=2999-01-01T00:00:00Z`),
    );

    expect(all).toMatchObject({ totalSize: 3, pageSize: 50, nextPageToken: "" });
    expect(JSON.stringify(all)).not.toContain('"artifacts"');
    expect(failed).toMatchObject({ tasks: [{ status: { state: "TASK_STATE_FAILED" } }] });
    expect(page).toMatchObject({ pageSize: 1, tasks: [{ artifacts: [{}, {}, {}] }] });
    expect(JSON.stringify(page)).not.toContain('"history"');
    expect(next).toMatchObject({ tasks: [{ status: { state: "TASK_STATE_FAILED" } }] });
    expect(none).toEqual({ tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 });
  });

  test("is not supported in 0.3, which does not define it", async () => {
    const answer = await new RestClient(server, PROTO_03).get("tasks");

    expect(faultOf(answer)).toMatchObject({ status: 400, kind: -32004 });
  });
});

describe("an extended card that does not exist", () => {
  test("is -32007 in 0.3 and UNSUPPORTED_OPERATION in 1.0", async () => {
    const v03 = await new RestClient(server, PROTO_03).get("card");
    const v1 = await new RestClient(server, V1).get("extendedAgentCard");

    expect(faultOf(v03)).toMatchObject({ status: 400, kind: -32007 });
    expect(faultOf(v1)).toMatchObject({ status: 400, kind: "UNSUPPORTED_OPERATION" });
  });
});

describe("push configs on a server that does not push", () => {
  const silent = useServer(demoAgent, { push: false });

  for (const dialect of OFFICIAL) {
    verifies("R29", `are rejected by each operation (${dialect.name})`, async () => {
      const client = new RestClient(silent, dialect);
      const path = "tasks/any/pushNotificationConfigs";

      const answers = [
        await client.post(path, { url: HOOK }),
        await client.get(path),
        await client.get(`${path}/x`),
        await client.ask(`${path}/x`, { method: "DELETE" }),
      ];

      for (const answer of answers) {
        expect(faultOf(answer)).toMatchObject({
          status: 400,
          kind: dialect === V1 ? "PUSH_NOTIFICATION_NOT_SUPPORTED" : -32003,
        });
      }
    });
  }
});
