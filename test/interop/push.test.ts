import { type IncomingMessage, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { AgentCard, TaskArtifactUpdateEvent, TaskState } from "a2a-sdk-v1";
import { legacyPushNotificationToV1StreamResponse } from "a2a-sdk-v1/compat/v0_3";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from "a2a-sdk-v1/server";
import {
  type Agent,
  type Received,
  type ServeAgentOptions,
  connect,
  createPushReceiver,
  defineAgent,
  serve,
} from "convoke";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { aChattyAgent } from "../push/a-pushing-server.ts";
import { Webhook } from "../push/a-webhook.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";
import type { Sdk, SdkClient, Seen } from "./sdk-client.ts";
import { SDKS_V03, SDK_V03 } from "./sdk-v03.ts";
import { SDKS_V1 } from "./sdk-v1.ts";
import { asTask, collect, outline, textOfTask } from "./story.ts";

const curiousAgent = defineAgent({
  name: "Curious",
  description: "Asks for a name and greets.",
  run: async ({ ask }) => `Hello, ${await ask("Your name?")}!`,
});

describe.each([...SDKS_V03, ...SDKS_V1])("$name", (sdk) => {
  verifies("R17", "sets, reads, lists and deletes push configs", async () => {
    const client = await discover(sdk, curiousAgent);
    const webhook = await Webhook.start();
    const deaf = await Webhook.start();
    const { taskId } = asTask(await client.send("hi"));
    const kept = { id: "kept", url: webhook.url, token: "t" };
    const dropped = { id: "dropped", url: deaf.url, token: "u" };

    const set = await client.pushes.set(taskId, kept);
    await client.pushes.set(taskId, dropped);

    expect(set).toEqual({ taskId, ...kept });
    expect(await client.pushes.get(taskId, "dropped")).toEqual({ taskId, ...dropped });
    expect(await client.pushes.list(taskId)).toEqual([
      { taskId, ...dropped },
      { taskId, ...kept },
    ]);

    await client.pushes.delete(taskId, "dropped");

    expect(await client.pushes.list(taskId)).toEqual([set]);
    await expect(client.pushes.get(taskId, "dropped")).rejects.toBeInstanceOf(
      sdk.TaskNotFoundError,
    );
    await expect(client.pushes.set("nobody", kept)).rejects.toBeInstanceOf(sdk.TaskNotFoundError);

    // Later events go only to the remaining config.
    await client.send("Ann", { taskId });
    await webhook.hasReceived(3);

    expect(told(sdk, webhook)).toEqual(
      sdk.version === "0.3"
        ? ["working", "working +Hello, Ann!", "completed +Hello, Ann!"]
        : ["working", "artifact Hello, Ann!", "completed"],
    );
    expect(deaf.arrivals).toEqual([]);
  });

  verifies(["R18", "G12"], "requests notifications in the message itself", async () => {
    const client = await discover(sdk, aChattyAgent());
    const webhook = await Webhook.start();
    const push = { url: webhook.url, token: "secret" };

    const { taskId } = asTask(await client.send("go", { blocking: false, push }));
    await webhook.hasReceived(5);

    expect(told(sdk, webhook)).toEqual(STORY[sdk.version]);
    expect(webhook.places).toEqual(webhook.places.toSorted((left, right) => left - right));
    for (const { headers, body } of webhook.arrivals) {
      expect(sdk.readNotification(body)).toHaveProperty("taskId", taskId);
      expect(headers).toMatchObject({
        "x-a2a-notification-token": "secret",
        "a2a-version": sdk.version,
        "content-type": sdk.version === "0.3" ? "application/json" : "application/a2a+json",
      });
    }
    // Without an id a config gets the id of its task.
    expect(await client.pushes.list(taskId)).toEqual([{ taskId, id: taskId, ...push }]);
  });

  verifies(["R18", "G12"], "reads a stream, and the webhook receives the same", async () => {
    const client = await discover(sdk, aChattyAgent());
    const webhook = await Webhook.start();

    const seen = await collect(client.stream("go", { push: { url: webhook.url } }));
    await webhook.hasReceived(5);

    expect(outline(seen).at(-1)).toBe("status completed");
    expect(told(sdk, webhook)).toEqual(STORY[sdk.version]);
  });

  test("sees why a private address is rejected", async () => {
    const client = await discover(sdk, curiousAgent, { push: {} });
    const { taskId } = asTask(await client.send("hi"));
    const push = { url: "http://127.0.0.1:9/hook" };

    const reason = '"127.0.0.1:9" is not a public address';
    await expect(client.pushes.set(taskId, push)).rejects.toThrow(reason);
    await expect(client.send("hi", { push })).rejects.toThrow(reason);
  });

  verifies("R17", "sees that an agent does not push", async () => {
    const client = await discover(sdk, curiousAgent, { push: false });
    const { taskId } = asTask(await client.send("hi"));
    const push = { url: "https://hooks.example.com/" };

    // The SDK checks the card before it sends the request.
    await expect(async () => client.pushes.set(taskId, push)).rejects.toBeInstanceOf(
      sdk.PushNotificationNotSupportedError,
    );
    // 0.3.14 has no such error for a send via gRPC.
    const isLossy = sdk.version === "0.3" && sdk.transport === "GRPC";
    const expected = isLossy ? Error : sdk.PushNotificationNotSupportedError;
    await expect(client.send("hi", { push })).rejects.toBeInstanceOf(expected);
  });
});

verifies("G12", "1.3.0 understands 0.3 notifications", async () => {
  const client = await discover(SDK_V03, aChattyAgent());
  const webhook = await Webhook.start();

  const { taskId } = asTask(await client.send("go", { push: { url: webhook.url } }));
  await webhook.hasReceived(5);

  const payloads = webhook.bodies.map(
    (body) => legacyPushNotificationToV1StreamResponse(body).payload,
  );
  const tasks = payloads.flatMap((payload) => (payload?.$case === "task" ? payload.value : []));
  expect(tasks.map(({ id }) => id)).toEqual(Array(5).fill(taskId));
  expect(tasks.at(-1)?.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
});

test("our receiver accepts what the 1.3.0 server pushes", async () => {
  const server = await anSdkServer();
  const receiver = createPushReceiver({ token: "secret" });
  const stranger = createPushReceiver({ token: "another" });
  const webhook = await Webhook.start();
  const agent = await connect(server);

  const pushConfig = { url: webhook.url, token: "secret" };
  const { task, text } = await agent.send("go", { pushConfig });
  await expect.poll(() => webhook.arrivals.length, { timeout: 20_000 }).toBe(4);

  const received: Received[] = [];
  for (const arrival of webhook.arrivals) received.push(await receiver.receive(arrival));
  expect(text).toBe("done");
  expect(received).toMatchObject(
    ["task", "status-update", "artifact-update", "status-update"].map((kind) => ({
      kind: "event",
      taskId: task?.id,
      version: "1.0",
      event: { kind },
    })),
  );
  expect(received.at(-1)).toMatchObject({ event: { status: { state: "completed" } } });
  expect(await stranger.receive(webhook.arrivals[0]!)).toMatchObject({
    kind: "refused",
    status: 401,
  });
});

/** What the webhook receives: in 0.3 the whole task each time, in 1.0 the event. */
const STORY = {
  "0.3": ["working", "working one", "working two +a", "working two +abc", "completed +abc"],
  "1.0": ["working", "working one", "working two", "artifact abc", "completed"],
} as const satisfies Record<Sdk["version"], readonly string[]>;

/** The notifications in short, as the SDK parses them. */
function told(sdk: Sdk, { arrivals }: Webhook): readonly string[] {
  return arrivals.map(({ body }) => inShort(sdk.readNotification(body)));
}

/** `working two +ab`: the state, its text, and the text of a task's artifacts. */
function inShort(seen: Seen): string {
  if (seen.kind !== "task" && seen.kind !== "status") return outline([seen])[0] ?? "";
  const artifacts = seen.kind === "task" ? textOfTask(seen) : "";
  return [seen.state, seen.text, artifacts && `+${artifacts}`].filter(Boolean).join(" ");
}

/** The SDK's client of an agent that is served for this test, with its tasks in SQLite. */
async function discover(
  sdk: Sdk,
  agent: Agent,
  options: ServeAgentOptions = { push: { allow: ["127.0.0.1"] } },
): Promise<SdkClient> {
  const server = await serve(agent, { port: 0, data: temporaryFolder(), ...options });
  onTestFinished(() => server.close());
  return sdk.discover(server.url);
}

/** The 1.3.0 server on a real port, with an agent that completes immediately. */
async function anSdkServer(): Promise<string> {
  // It logs each notification.
  vi.spyOn(console, "info").mockImplementation(() => undefined);
  onTestFinished(() => void vi.restoreAllMocks());
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/`;
  const card = AgentCard.fromJSON({
    name: "Prompt",
    description: "Is done at once.",
    version: "1.0.0",
    supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
  });
  const pushes = new InMemoryPushNotificationStore();
  const handler = new JsonRpcTransportHandler(
    new DefaultRequestHandler(
      card,
      new InMemoryTaskStore(),
      promptExecutor,
      undefined,
      pushes,
      new DefaultPushNotificationSender(pushes),
    ),
  );
  const answerTo = async (request: IncomingMessage): Promise<unknown> =>
    request.method === "GET"
      ? AgentCard.toJSON(card)
      : handler.handle(
          (await json(request)) as Record<string, unknown>,
          new ServerCallContext({ requestedVersion: "1.0" }),
        );
  http.on("request", (request, response) => {
    void answerTo(request).then((answer) =>
      response.setHeader("content-type", "application/json").end(JSON.stringify(answer)),
    );
  });
  return url;
}

const promptExecutor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const ids = { taskId, contextId };
    const status = (state: TaskState) => ({
      state,
      message: undefined,
      timestamp: new Date().toISOString(),
    });
    const update = (state: TaskState) =>
      bus.publish(AgentEvent.statusUpdate({ ...ids, status: status(state), metadata: undefined }));
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: status(TaskState.TASK_STATE_SUBMITTED),
        artifacts: [],
        history: [userMessage],
        metadata: undefined,
      }),
    );
    update(TaskState.TASK_STATE_WORKING);
    bus.publish(
      AgentEvent.artifactUpdate(
        TaskArtifactUpdateEvent.fromJSON({
          ...ids,
          artifact: { artifactId: "answer", parts: [{ text: "done" }] },
          lastChunk: true,
        }),
      ),
    );
    update(TaskState.TASK_STATE_COMPLETED);
    bus.finished();
  },
  cancelTask: async () => undefined,
};
