import fc, { type Arbitrary } from "fast-check";
import {
  type A2AArtifact,
  TASK_STATES,
  type Task,
  type TaskState,
  type TaskStatus,
} from "../model/task.ts";
import type { AgentCardFacts, AgentInfo } from "../model/agent.ts";
import {
  type ArtifactUpdateEvent,
  type PublicEvent,
  type StatusUpdateEvent,
  isFinal,
} from "../model/events.ts";
import type { InternalEvent, MessageReceivedEvent } from "../model/journal.ts";
import { type Message, agentMessage, userMessage } from "../model/message.ts";
import {
  type A2APart,
  type DataPart,
  type FilePart,
  type Metadata,
  type TextPart,
  textPart,
} from "../model/part.ts";
import type {
  CancelTaskRequest,
  CreatePushConfigRequest,
  DeletePushConfigRequest,
  GetPushConfigRequest,
  GetTaskRequest,
  ListPushConfigsRequest,
  ListTasksRequest,
  PushAuthentication,
  PushConfig,
  PushConfigPage,
  PushTarget,
  SendMessageRequest,
  SubscribeRequest,
  TaskPage,
} from "../model/requests.ts";
import type { WireDialect } from "../wire/codec/codec.ts";

/** Some bytes in the canonical encoding of the model. */
const base64 = fc
  .uint8Array({ maxLength: 9 })
  .map((bytes) => Buffer.from(bytes).toString("base64"));

// Builders: one ordinary object of each kind; a test overrides only what matters to it.

export function aMessage(overrides: Partial<Message> = {}): Message {
  return { ...userMessage("m1", "hello"), ...overrides };
}

export function aTask(overrides: Partial<Task> = {}): Task {
  return {
    kind: "task",
    id: "t1",
    contextId: "c1",
    status: { state: "submitted", timestamp: "2026-01-31T12:00:00.000Z" },
    ...overrides,
  };
}

export function aStatusUpdate(state: TaskState, message?: Message): StatusUpdateEvent {
  return {
    kind: "status-update",
    taskId: "t1",
    contextId: "c1",
    status: { state, ...(message && { message }) },
    final: isFinal(state),
  };
}

export function anArtifactUpdate(
  parts: readonly A2APart[],
  overrides: Partial<ArtifactUpdateEvent> = {},
): ArtifactUpdateEvent {
  const artifact = { artifactId: "a1", parts };
  return { kind: "artifact-update", taskId: "t1", contextId: "c1", artifact, ...overrides };
}

/** A chunk of the text of artifact a1. */
export function aChunk(text: string): ArtifactUpdateEvent {
  return anArtifactUpdate([textPart(text)], { append: true });
}

export function someFacts(overrides: Partial<AgentCardFacts> = {}): AgentCardFacts {
  const info: AgentInfo = {
    name: "Greeter",
    description: "Greets people by name.",
    version: "1.2.3",
    skills: [{ id: "greet", name: "Greet", description: "Says hello.", tags: ["hello"] }],
    inputModes: ["text/plain"],
    outputModes: ["text/plain", "application/json"],
    replies: false,
    keepStreamOnInterrupt: false,
    takesMessages: false,
    restart: false,
  };
  return {
    info,
    interfaces: [
      { url: "https://agent.test/", binding: "JSONRPC", version: "1.0" },
      { url: "https://agent.test/", binding: "JSONRPC", version: "0.3" },
    ],
    capabilities: { streaming: true, pushNotifications: false },
    ...overrides,
  };
}

/** A value after a round trip: what a peer reads of what we wrote. */
export function overTheWire(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

// Arbitraries: the whole model, as far as a wire version can represent it.

const words = fc.string({ unit: "grapheme", maxLength: 12 });
const ids = fc.string({ minLength: 1, maxLength: 12 });
const lists = fc.array(words, { maxLength: 3 });

/** JSON as parsed from bytes: with keys such as `__proto__`, without a negative zero. */
export const jsonValues: Arbitrary<unknown> = fc
  .json({ maxDepth: 2 })
  .map((text) => JSON.parse(text) as unknown);

export const jsonObjects: Arbitrary<Metadata> = fc
  .dictionary(fc.string({ maxLength: 12 }), jsonValues, { maxKeys: 3 })
  .map((object) => overTheWire(object) as Metadata);

const times = fc
  .date({ min: new Date(0), max: new Date("2999-12-31"), noInvalidDate: true })
  .map((date) => date.toISOString());

export const taskStates: Arbitrary<TaskState> = fc.constantFrom(...TASK_STATES);

const tokenLetters = fc.constantFrom(...Array.from("!#$%&'*+.^_`|~-09AZaz"));
const httpTokens = fc.string({ unit: tokenLetters, minLength: 1, maxLength: 8 });

/** What a header can contain, without being empty: empty equals absent. */
const headerTexts = fc.string({
  unit: fc.oneof(
    fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
    fc.integer({ min: 0xa0, max: 0xff }).map((code) => String.fromCharCode(code)),
  ),
  minLength: 1,
  maxLength: 12,
});

const headers = fc
  .uniqueArray(fc.tuple(httpTokens, headerTexts), {
    selector: ([name]) => name.toLowerCase(),
    maxLength: 3,
  })
  .map((entries) => Object.fromEntries(entries.map(([name, text]) => [`x-${name}`, text])));

/** A plain object with the required fields, and any of the others. */
function shape<T, K extends keyof T>(
  model: { [P in keyof T]: Arbitrary<T[P]> },
  requiredKeys: K[],
): Arbitrary<Partial<T> & Pick<T, K>> {
  return fc.record(model, { requiredKeys, noNullPrototype: true }) as Arbitrary<
    Partial<T> & Pick<T, K>
  >;
}

/**
 * Everything that one dialect represents without loss. Only what it cannot represent is omitted: in
 * 0.3 the `mediaType` and `filename` of text and data parts, empty metadata next to data that is
 * not an object, and the tenant of a request, and on JSON-RPC the pages of push configs; in 1.0 a
 * `final` that does not follow from the state, a list of the tasks in the state `unknown`, which
 * there means any state, and a second scheme of a push target; in both ProtoJSON dialects a request
 * for a push config without its id; and in that of 0.3 the referenced tasks of a message, the
 * metadata of a cancel, a history of no messages, and task ids that would end a resource name.
 */
export function modelOf(dialect: WireDialect) {
  const isNew = dialect === "1.0";
  const isOldProto = dialect === "0.3-proto";
  const isProto = isNew || isOldProto;
  const taskIds = isOldProto ? ids.map((id) => id.replaceAll("/", "-")) : ids;
  const added = isNew ? { mediaType: words, filename: words } : {};

  const textParts = shape(
    { kind: fc.constant("text"), text: words, ...added, metadata: jsonObjects },
    ["kind", "text"],
  ) as Arbitrary<TextPart>;
  const dataParts = shape(
    { kind: fc.constant("data"), data: jsonValues, ...added, metadata: jsonObjects },
    ["kind", "data"],
  ).map((part) => (isNew ? part : withoutEmptyMetadata(part as DataPart))) as Arbitrary<DataPart>;
  const named = { name: words, mimeType: words };
  const files = fc.oneof(
    shape({ ...named, bytes: base64 }, ["bytes"]),
    shape({ ...named, uri: fc.webUrl() }, ["uri"]),
  );
  const fileParts = shape({ kind: fc.constant("file"), file: files, metadata: jsonObjects }, [
    "kind",
    "file",
  ]) as Arbitrary<FilePart>;
  const part: Arbitrary<A2APart> = fc.oneof(textParts, dataParts, fileParts);
  const parts = fc.array(part, { minLength: 1, maxLength: 4 });

  const message: Arbitrary<Message> = shape(
    {
      kind: fc.constant("message" as const),
      messageId: ids,
      role: fc.constantFrom("user" as const, "agent" as const),
      parts,
      taskId: ids,
      contextId: ids,
      ...(!isOldProto && { referenceTaskIds: lists }),
      extensions: lists,
      metadata: jsonObjects,
    },
    ["kind", "messageId", "role", "parts"],
  );
  const artifact: Arbitrary<A2AArtifact> = shape(
    {
      artifactId: ids,
      name: words,
      description: words,
      parts,
      extensions: lists,
      metadata: jsonObjects,
    },
    ["artifactId", "parts"],
  );
  const status: Arbitrary<TaskStatus> = shape({ state: taskStates, message, timestamp: times }, [
    "state",
  ]);
  const task: Arbitrary<Task> = shape(
    {
      kind: fc.constant("task" as const),
      id: ids,
      contextId: ids,
      status,
      history: fc.array(message, { maxLength: 3 }),
      artifacts: fc.array(artifact, { maxLength: 3 }),
      metadata: jsonObjects,
    },
    ["kind", "id", "contextId", "status"],
  );
  const statusUpdate: Arbitrary<StatusUpdateEvent> = shape(
    {
      kind: fc.constant("status-update" as const),
      taskId: ids,
      contextId: ids,
      status,
      final: fc.boolean(),
      metadata: jsonObjects,
    },
    ["kind", "taskId", "contextId", "status", "final"],
  ).map((event) => {
    const { state } = event.status;
    if (isNew) return { ...event, final: isFinal(state) };
    // 0.3 ends a stream at auth-required.
    return { ...event, final: event.final || state === "auth-required" };
  });
  const artifactUpdate: Arbitrary<ArtifactUpdateEvent> = shape(
    {
      kind: fc.constant("artifact-update" as const),
      taskId: ids,
      contextId: ids,
      artifact,
      append: fc.boolean(),
      lastChunk: fc.boolean(),
      metadata: jsonObjects,
    },
    ["kind", "taskId", "contextId", "artifact"],
  );
  const event: Arbitrary<PublicEvent> = fc.oneof(task, message, statusUpdate, artifactUpdate);

  const pushAuthentication: Arbitrary<PushAuthentication> = shape(
    {
      schemes: fc.array(httpTokens, { minLength: 1, maxLength: isNew ? 1 : 3 }),
      credentials: headerTexts,
    },
    ["schemes"],
  );
  const target = {
    id: ids,
    url: fc.webUrl(),
    token: headerTexts,
    authentication: pushAuthentication,
    headers,
  };
  const pushTarget: Arbitrary<PushTarget> = shape(target, ["url"]);
  const pushConfig: Arbitrary<PushConfig> = shape({ ...target, taskId: taskIds }, [
    "taskId",
    "id",
    "url",
  ]);
  const pushConfigPage: Arbitrary<PushConfigPage> = shape(
    {
      configs: fc.array(pushConfig, { maxLength: 3 }),
      nextPageToken: isProto ? words : fc.constant(""),
    },
    ["configs", "nextPageToken"],
  );
  const createPushConfig: Arbitrary<CreatePushConfigRequest> = shape(
    { taskId: taskIds, target: pushTarget },
    ["taskId", "target"],
  );
  const getPushConfig: Arbitrary<GetPushConfigRequest> = shape(
    { taskId: taskIds, id: ids },
    isProto ? ["taskId", "id"] : ["taskId"],
  );
  const listPushConfigs: Arbitrary<ListPushConfigsRequest> = shape(
    {
      taskId: taskIds,
      ...(isProto && { pageSize: fc.integer({ min: 1, max: 100 }), pageToken: ids }),
    },
    ["taskId"],
  );
  const deletePushConfig: Arbitrary<DeletePushConfigRequest> = shape({ taskId: taskIds, id: ids }, [
    "taskId",
    "id",
  ]);

  const historyLength = isOldProto ? fc.integer({ min: 1, max: 2 ** 31 - 1 }) : fc.nat();
  const sendMessage: Arbitrary<SendMessageRequest> = shape(
    {
      message,
      blocking: fc.boolean(),
      historyLength,
      acceptedOutputModes: lists,
      pushConfig: pushTarget,
      metadata: jsonObjects,
      ...(isNew && { tenant: ids }),
    },
    ["message", "blocking"],
  );
  const getTask: Arbitrary<GetTaskRequest> = shape({ taskId: taskIds, historyLength }, ["taskId"]);
  const cancelTask: Arbitrary<CancelTaskRequest> = shape(
    { taskId: taskIds, ...(!isOldProto && { metadata: jsonObjects }) },
    ["taskId"],
  );
  const subscribe: Arbitrary<SubscribeRequest> = shape({ taskId: taskIds }, ["taskId"]);
  const listTasks: Arbitrary<ListTasksRequest> = shape(
    {
      contextId: ids,
      state: fc.constantFrom(...TASK_STATES.filter((state) => state !== "unknown")),
      statusTimestampAfter: times,
      pageSize: fc.integer({ min: 1, max: 100 }),
      pageToken: ids,
      historyLength,
      includeArtifacts: fc.boolean(),
    },
    ["pageSize", "includeArtifacts"],
  );
  const taskPage: Arbitrary<TaskPage> = shape(
    {
      tasks: fc.array(task, { maxLength: 3 }),
      nextPageToken: words,
      pageSize: fc.nat(),
      totalSize: fc.nat(),
    },
    ["tasks", "nextPageToken", "pageSize", "totalSize"],
  );
  return {
    part,
    message,
    task,
    event,
    sendMessage,
    getTask,
    cancelTask,
    subscribe,
    listTasks,
    taskPage,
    pushConfig,
    pushConfigPage,
    createPushConfig,
    getPushConfig,
    listPushConfigs,
    deletePushConfig,
  };
}

/**
 * 0.3 wraps data that is not an object and marks it in the metadata; empty metadata is read back as
 * absent.
 */
function withoutEmptyMetadata(part: DataPart): DataPart {
  const { metadata, ...rest } = part;
  const isObject = typeof part.data === "object" && part.data !== null && !Array.isArray(part.data);
  return isObject || Object.keys(metadata ?? {}).length > 0 ? part : rest;
}

/** An internal event of an agent. */
export const internalEvents: Arbitrary<InternalEvent> = fc
  .tuple(fc.constantFrom("tool-start", "llm-call", "checkpoint"), jsonObjects)
  .map(
    ([name, fields]) => ({ ...fields, kind: `internal:${name}`, taskId: "t1" }) as InternalEvent,
  );

/** Messages of which some have the same id, as when a stream is resumed. */
export const repeatedMessages: Arbitrary<Message> = fc
  .tuple(fc.integer({ min: 1, max: 4 }), words)
  .map(([number, text]) => agentMessage(`m${number}`, text));

const received: Arbitrary<MessageReceivedEvent> = repeatedMessages.map((message) => ({
  kind: "internal:message",
  taskId: "t1",
  message: { ...message, role: "user" },
  timestamp: "2026-01-31T12:00:00.000Z",
}));

const statusUpdates = fc
  .tuple(taskStates, fc.option(repeatedMessages, { nil: undefined }))
  .map(([state, message]) => aStatusUpdate(state, message));

const artifactUpdates = fc
  .tuple(
    fc.constantFrom("a1", "a2", "a3"),
    fc.array(fc.oneof(words.map(textPart), modelOf("1.0").part), { minLength: 1, maxLength: 3 }),
    fc.boolean(),
  )
  .map(([artifactId, parts, append]) =>
    anArtifactUpdate(parts, { artifact: { artifactId, parts }, append }),
  );

/** What can happen to task t1 once it exists. Few ids, so that they repeat. */
export const eventsOfATask = fc.array(
  fc.oneof(artifactUpdates, statusUpdates, received, internalEvents, repeatedMessages),
  { maxLength: 20 },
);
