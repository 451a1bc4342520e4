import { randomUUID } from "node:crypto";
import { RestTransport, TaskNotFoundError as TaskNotFoundV03 } from "a2a-sdk-v03/client";
import {
  AgentCard,
  GetTaskRequest,
  ListTasksRequest,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
} from "a2a-sdk-v1";
import { RestTransportFactory } from "a2a-sdk-v1/client";
import { TaskNotFoundError as TaskNotFoundV1 } from "a2a-sdk-v1/errors";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";

const HOOK = "https://hooks.example.com/a";

const server = useServer();

describe("the official 0.3 client", () => {
  const rest = () => new RestTransport({ endpoint: server.url });
  const message = (text: string, more: object = {}) => ({
    kind: "message" as const,
    messageId: randomUUID(),
    role: "user" as const,
    parts: [{ kind: "text" as const, text }],
    ...more,
  });

  verifies("R20", "sends, gets, continues and cancels via REST", async () => {
    const done = await rest().sendMessage({ message: message("artifact") });
    const asked = await rest().sendMessage({ message: message("ask") });
    if (done.kind !== "task" || asked.kind !== "task") throw new Error("This is no task");

    expect(done.status.state).toBe("completed");
    expect(done.artifacts).toHaveLength(3);
    expect(await rest().getTask({ id: done.id })).toMatchObject({ id: done.id, kind: "task" });
    expect(await rest().cancelTask({ id: asked.id })).toMatchObject({
      status: { state: "canceled" },
    });
    await expect(rest().getTask({ id: "nobody" })).rejects.toBeInstanceOf(TaskNotFoundV03);
  });

  verifies("R20", "streams and subscribes via REST", async () => {
    const events = await collect(rest().sendMessageStream({ message: message("slow 3") }));
    const [first] = events;
    if (first?.kind !== "task") throw new Error("This is no task");

    const again = await collect(rest().resubscribeTask({ id: first.id }));

    expect(events.at(-1)).toMatchObject({ kind: "status-update", status: { state: "completed" } });
    expect(again).toMatchObject([{ kind: "task", status: { state: "completed" } }]);
  });

  verifies(["R17", "R20"], "sets, gets, lists and deletes push configs via REST", async () => {
    const task = await rest().sendMessage({ message: message("ask") });
    if (task.kind !== "task") throw new Error("This is no task");
    const wanted = { taskId: task.id, pushNotificationConfig: { id: "c", url: HOOK, token: "t" } };
    const named = { id: task.id, pushNotificationConfigId: "c" };

    expect(await rest().setTaskPushNotificationConfig(wanted)).toMatchObject(wanted);
    expect(await rest().getTaskPushNotificationConfig(named)).toMatchObject(wanted);
    expect(await rest().listTaskPushNotificationConfig({ id: task.id })).toMatchObject([wanted]);
    await rest().deleteTaskPushNotificationConfig(named);
    await expect(rest().getTaskPushNotificationConfig(named)).rejects.toThrow();
  });
});

describe.each(["1.0", "0.3"])("the official 1.0 client, using %s", (protocolVersion) => {
  const rest = () =>
    new RestTransportFactory({ legacyCompat: { enabled: true } }).create(
      server.url,
      AgentCard.fromJSON({
        supportedInterfaces: [{ url: server.url, protocolBinding: "HTTP+JSON", protocolVersion }],
      }),
    );
  const sending = (text: string) =>
    SendMessageRequest.fromJSON({
      message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] },
    });
  const sendTask = async (text: string) =>
    Task.toJSON((await (await rest()).sendMessage(sending(text))) as Task) as { id: string };

  verifies("R20", "sends, gets, lists and cancels via REST", async () => {
    const done = await sendTask("artifact");
    const asked = await sendTask("ask");
    const transport = await rest();

    const got = await transport.getTask(GetTaskRequest.fromJSON({ id: done.id }));
    const canceled = await transport.cancelTask({
      id: asked.id,
      tenant: "",
      metadata: undefined,
    });

    expect(transport.protocolVersion).toBe(protocolVersion);
    expect(done).toMatchObject({
      status: { state: "TASK_STATE_COMPLETED" },
      artifacts: [{}, {}, {}],
    });
    expect(Task.toJSON(got)).toMatchObject({ id: done.id });
    expect(Task.toJSON(canceled)).toMatchObject({ status: { state: "TASK_STATE_CANCELED" } });
    await expect(
      transport.getTask(GetTaskRequest.fromJSON({ id: "nobody" })),
    ).rejects.toBeInstanceOf(TaskNotFoundV1);
    if (protocolVersion === "1.0") {
      const page = await transport.listTasks(
        ListTasksRequest.fromJSON({ pageSize: 2, includeArtifacts: true }),
      );
      expect(page.tasks.length).toBe(2);
    }
  });

  verifies("R20", "streams and subscribes via REST", async () => {
    const transport = await rest();

    const events = (await collect(transport.sendMessageStream(sending("slow 3")))).map((event) =>
      StreamResponse.toJSON(event),
    );
    const { id } = await sendTask("ask");
    const subscription = transport.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id }));
    const first = await subscription.next();
    await subscription.return(undefined);

    expect(events[0]).toMatchObject({ task: {} });
    expect(events.at(-1)).toMatchObject({
      statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } },
    });
    expect(StreamResponse.toJSON(first.value as StreamResponse)).toMatchObject({ task: { id } });
  });

  verifies(["R17", "R20"], "creates, gets, lists and deletes push configs via REST", async () => {
    const transport = await rest();
    const { id: taskId } = await sendTask("ask");
    const wanted = { taskId, id: "c", url: HOOK, token: "t" };
    const named = { taskId, id: "c", tenant: "" };

    const created = await transport.createTaskPushNotificationConfig(
      TaskPushNotificationConfig.fromJSON(wanted),
    );
    const got = await transport.getTaskPushNotificationConfig(named);
    const listed = await transport.listTaskPushNotificationConfig({
      taskId,
      tenant: "",
      pageSize: 0,
      pageToken: "",
    });
    await transport.deleteTaskPushNotificationConfig(named);

    expect(created).toMatchObject(wanted);
    expect(got).toMatchObject(wanted);
    expect(listed.configs).toMatchObject([wanted]);
    await expect(transport.getTaskPushNotificationConfig(named)).rejects.toThrow();
  });
});

async function collect<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}
