import { randomUUID } from "node:crypto";
import type {
  Artifact,
  GetTaskPushNotificationConfigParams,
  Message,
  MessageSendParams,
  Part,
  Task,
  TaskArtifactUpdateEvent,
  TaskPushNotificationConfig,
  TaskStatusUpdateEvent,
} from "a2a-sdk-v03";
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  PushNotificationNotSupportedError,
  RestTransportFactory,
  TaskNotFoundError,
  createAuthenticatingFetchWithRetry,
} from "a2a-sdk-v03/client";
import { GrpcTransportFactory } from "a2a-sdk-v03/client/grpc";
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

/** The last official client for 0.3. */
export const SDK_V03 = sdkBy("JSONRPC");

/** The same via each of its transports. */
export const SDKS_V03: readonly Sdk[] = [SDK_V03, sdkBy("HTTP+JSON"), sdkBy("GRPC")];

function sdkBy(transport: SdkTransport): Sdk {
  return {
    name: `@a2a-js/sdk 0.3.14 via ${transport}`,
    version: "0.3",
    transport,
    TaskNotFoundError,
    PushNotificationNotSupportedError,
    authenticate: createAuthenticatingFetchWithRetry,
    async discover(url, fetchImpl = fetch) {
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
      const client = await factory.createFromUrl(url);
      const card = await client.getAgentCard();
      return adapt(client, card.name);
    },
    // 0.3.14 has a type for it but no decoder.
    readNotification: (body) => seen(JSON.parse(body) as Task | Message),
  };
}

function adapt(client: Client, agentName: string): SdkClient {
  return {
    agentName,
    send: async (text, options) => seen(await client.sendMessage(request(text, options))),
    stream: (text, { signal, ...options } = {}) =>
      watch(client.sendMessageStream(request(text, options), { ...(signal && { signal }) })),
    subscribe: (id, signal) => watch(client.resubscribeTask({ id }, { ...(signal && { signal }) })),
    get: async (id) => seenTask(await client.getTask({ id })),
    cancel: async (id) => seenTask(await client.cancelTask({ id })),
    pushes: pushesOf(client),
  };
}

function pushesOf(client: Client): SdkPushes {
  return {
    set: async (taskId, hook) =>
      seenPush(
        await client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig: hook }),
      ),
    get: async (taskId, pushNotificationConfigId) => {
      // The method is declared to take only the task; it passes on what it is given.
      const params: GetTaskPushNotificationConfigParams = { id: taskId, pushNotificationConfigId };
      return seenPush(await client.getTaskPushNotificationConfig(params));
    },
    list: async (id) => (await client.listTaskPushNotificationConfig({ id })).map(seenPush),
    delete: (id, pushNotificationConfigId) =>
      client.deleteTaskPushNotificationConfig({ id, pushNotificationConfigId }),
  };
}

function seenPush({ taskId, pushNotificationConfig }: TaskPushNotificationConfig): SeenPush {
  return { taskId, ...pushNotificationConfig };
}

function request(text: string, options: SendOptions = {}): MessageSendParams {
  const { blocking, push, ...continues } = options;
  return {
    message: {
      kind: "message",
      messageId: randomUUID(),
      role: "user",
      parts: [{ kind: "text", text }],
      ...continues,
    },
    configuration: {
      ...(blocking !== undefined && { blocking }),
      ...(push && { pushNotificationConfig: push }),
    },
  };
}

type Event = Task | Message | TaskStatusUpdateEvent | TaskArtifactUpdateEvent;

async function* watch(events: AsyncIterable<Event>): AsyncIterable<Seen> {
  for await (const event of events) {
    switch (event.kind) {
      case "task":
      case "message":
        yield seen(event);
        break;
      case "status-update": {
        const { taskId, final, status } = event;
        const text = textOf(status.message?.parts.map(seenPart) ?? []);
        yield { kind: "status", taskId, state: status.state, text, final };
        break;
      }
      case "artifact-update": {
        const { taskId, append = false, lastChunk = false } = event;
        const artifact = seenArtifact(event.artifact);
        yield { kind: "artifact", taskId, artifact, append, lastChunk };
        break;
      }
    }
  }
}

function seen(answer: Task | Message): SeenTask | SeenMessage {
  if (answer.kind === "task") return seenTask(answer);
  return { kind: "message", text: textOf(answer.parts.map(seenPart)) };
}

function seenTask({ id, contextId, status, artifacts = [], history = [] }: Task): SeenTask {
  return {
    kind: "task",
    taskId: id,
    contextId,
    state: status.state,
    text: textOf(status.message?.parts.map(seenPart) ?? []),
    artifacts: artifacts.map(seenArtifact),
    history: history.map(({ parts }) => textOf(parts.map(seenPart))),
  };
}

function seenArtifact({ artifactId, name = "", parts }: Artifact): SeenArtifact {
  return { artifactId, name, parts: parts.map(seenPart) };
}

function seenPart(part: Part): SeenPart {
  if (part.kind === "text") return { kind: "text", text: part.text };
  if (part.kind === "data") return { kind: "data", data: part.data };
  const { file } = part;
  const content = "bytes" in file ? Buffer.from(file.bytes, "base64").toString() : file.uri;
  return { kind: "file", name: file.name ?? "", mediaType: file.mimeType ?? "", content };
}
