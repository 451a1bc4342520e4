import type { TaskState } from "convoke";
import { randomUUID } from "node:crypto";
import {
  type Artifact,
  type Message,
  type Part,
  SendMessageRequest,
  StreamResponse,
  type Task,
  TaskPushNotificationConfig,
  type TaskState as TaskStateV1,
  taskStateToJSON,
} from "a2a-sdk-v1";
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  createAuthenticatingFetchWithRetry,
} from "a2a-sdk-v1/client";
import { GrpcTransportFactory } from "a2a-sdk-v1/client/grpc";
import { PushNotificationNotSupportedError, TaskNotFoundError } from "a2a-sdk-v1/errors";
import {
  type Sdk,
  type SdkClient,
  type SdkPushes,
  type SdkTransport,
  type Seen,
  type SeenArtifact,
  type SeenMessage,
  type SeenPart,
  type SeenPush,
  type SeenTask,
  type SendOptions,
  textOf,
} from "./sdk-client.ts";

/** The official client for 1.0, without its 0.3 compatibility. */
export const SDK_V1 = sdkBy("JSONRPC");

/** The same via each of its transports. */
export const SDKS_V1: readonly Sdk[] = [SDK_V1, sdkBy("HTTP+JSON"), sdkBy("GRPC")];

function sdkBy(transport: SdkTransport): Sdk {
  return {
    name: `@a2a-js/sdk 1.3.0 via ${transport}`,
    version: "1.0",
    transport,
    TaskNotFoundError,
    PushNotificationNotSupportedError,
    authenticate: createAuthenticatingFetchWithRetry,
    async discover(url, fetchImpl) {
      const client = await discoverV1(url, fetchImpl, transport);
      const card = await client.getAgentCard();
      return adapt(client, card.name);
    },
    readNotification: (body) => seenEvent(StreamResponse.fromJSON(JSON.parse(body))),
  };
}

/** The SDK's own client, for what only 1.0 has. */
export function discoverV1(
  url: string,
  fetchImpl: typeof fetch = fetch,
  transport: SdkTransport = "JSONRPC",
): Promise<Client> {
  const transports = {
    JSONRPC: () => new JsonRpcTransportFactory({ fetchImpl }),
    "HTTP+JSON": () => new RestTransportFactory({ fetchImpl }),
    GRPC: () => new GrpcTransportFactory(),
  };
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [transports[transport]()],
      preferredTransports: [transport],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    }),
  );
  return factory.createFromUrl(url);
}

function adapt(client: Client, agentName: string): SdkClient {
  const tenant = "";
  return {
    agentName,
    send: async (text, options) => seen(await client.sendMessage(request(text, options))),
    stream: (text, { signal, ...options } = {}) =>
      watch(client.sendMessageStream(request(text, options), { ...(signal && { signal }) })),
    subscribe: (id, signal) =>
      watch(client.resubscribeTask({ tenant, id }, { ...(signal && { signal }) })),
    get: async (id) => seenTask(await client.getTask({ tenant, id })),
    cancel: async (id) => seenTask(await client.cancelTask({ tenant, id, metadata: undefined })),
    pushes: pushesOf(client),
  };
}

function pushesOf(client: Client): SdkPushes {
  const tenant = "";
  return {
    set: async (taskId, hook) => {
      const config = TaskPushNotificationConfig.fromJSON({ taskId, ...hook });
      return seenPush(await client.createTaskPushNotificationConfig(config));
    },
    get: async (taskId, id) =>
      seenPush(await client.getTaskPushNotificationConfig({ tenant, taskId, id })),
    list: async (taskId) => {
      const wholeList = { tenant, taskId, pageSize: 0, pageToken: "" };
      const { configs } = await client.listTaskPushNotificationConfig(wholeList);
      return configs.map(seenPush);
    },
    delete: (taskId, id) => client.deleteTaskPushNotificationConfig({ tenant, taskId, id }),
  };
}

function seenPush({ taskId, id, url, token }: TaskPushNotificationConfig): SeenPush {
  return { taskId, id, url, token };
}

function request(text: string, options: SendOptions = {}): SendMessageRequest {
  const { blocking = true, push, ...continues } = options;
  return SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...continues },
    configuration: {
      returnImmediately: !blocking,
      ...(push && { taskPushNotificationConfig: push }),
    },
  });
}

/** Without events of a kind that the SDK does not know: it passes them on without a payload. */
async function* watch(events: AsyncIterable<StreamResponse>): AsyncIterable<Seen> {
  for await (const event of events) if (event.payload !== undefined) yield seenEvent(event);
}

function seenEvent({ payload }: StreamResponse): Seen {
  switch (payload?.$case) {
    case "task":
    case "message":
      return seen(payload.value);
    case "statusUpdate": {
      const { taskId, status } = payload.value;
      return { kind: "status", taskId, state: stateOf(status?.state), text: words(status) };
    }
    case "artifactUpdate": {
      const { taskId, artifact, append, lastChunk } = payload.value;
      if (artifact === undefined) throw new Error("The update has no artifact.");
      return { kind: "artifact", taskId, artifact: seenArtifact(artifact), append, lastChunk };
    }
    case undefined:
      throw new Error("The event is empty.");
  }
}

function seen(answer: Task | Message): SeenTask | SeenMessage {
  if ("messageId" in answer) return { kind: "message", text: textOf(answer.parts.map(seenPart)) };
  return seenTask(answer);
}

function seenTask({ id, contextId, status, artifacts, history }: Task): SeenTask {
  return {
    kind: "task",
    taskId: id,
    contextId,
    state: stateOf(status?.state),
    text: words(status),
    artifacts: artifacts.map(seenArtifact),
    history: history.map(({ parts }) => textOf(parts.map(seenPart))),
  };
}

/** `TASK_STATE_INPUT_REQUIRED` is `input-required`. */
function stateOf(state: TaskStateV1 | undefined): TaskState {
  if (state === undefined) throw new Error("The status has no state.");
  const name = taskStateToJSON(state).replace("TASK_STATE_", "");
  return name.toLowerCase().replaceAll("_", "-") as TaskState;
}

function words(status: Task["status"]): string {
  return textOf(status?.message?.parts.map(seenPart) ?? []);
}

function seenArtifact({ artifactId, name, parts }: Artifact): SeenArtifact {
  return { artifactId, name, parts: parts.map(seenPart) };
}

function seenPart({ content, filename, mediaType }: Part): SeenPart {
  switch (content?.$case) {
    case "text":
      return { kind: "text", text: content.value };
    case "data":
      return { kind: "data", data: content.value };
    case "raw":
    case "url":
      return { kind: "file", name: filename, mediaType, content: content.value.toString() };
    case undefined:
      throw new Error("The part is empty.");
  }
}
