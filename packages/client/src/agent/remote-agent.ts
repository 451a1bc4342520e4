import {
  type Agent,
  type AgentEvent,
  type AgentInfo,
  type AgentSkill,
  type Binding,
  type CallOptions,
  type CalledTasks,
  ClientError,
  type Connection,
  ERRORS,
  type FilePart,
  type ListTasksRequest,
  type Metadata,
  type ProtocolVersion,
  type PushConfig,
  type PushTarget,
  type RawCard,
  RemoteError,
  type RemoteSource,
  type RequestContext,
  type SendMessageRequest,
  type Task,
  type TaskPage,
  type Turn,
  taskFacts,
} from "@convoke/protocol";
import { type JsonObject, type PageRequest, isObject, readPages } from "@convoke/protocol/internal";
import type { HttpClient } from "@convoke/egress/http";
import { BridgeRun } from "../bridge/bridge-run.ts";
import { Conversation, type ConversationOptions } from "../conversation/conversation.ts";
import {
  type Input,
  type MessageOptions,
  type RequestOptions,
  requestFields,
  toMessage,
} from "../conversation/message.ts";
import { type Answer, answerIn } from "../run/answer.ts";
import { type FollowOptions, followSettings } from "../run/follow-options.ts";
import { ResumingSource } from "../run/resuming-source.ts";
import type { RunRequest } from "../run/task-events.ts";
import { Run } from "../run/run.ts";
import { type ReadFileOptions, readFile } from "./read-file.ts";

/** Options of every call with a single response. */
interface RemoteCallOptions extends RequestContext {
  readonly signal?: AbortSignal | undefined;
}

/** Options of a message whose answer is streamed. */
export interface StreamOptions extends MessageOptions, RequestOptions, FollowOptions {
  /** A webhook to which the agent also pushes updates of the task. */
  readonly pushConfig?: PushTarget | undefined;
}

export interface SendOptions extends StreamOptions {
  /** False resolves as soon as the agent has created the task. Default true: wait for the answer. */
  readonly wait?: boolean | undefined;
}

export interface GetOptions extends RemoteCallOptions {
  /** Maximum number of the newest messages to include; 0 for none. Default: the agent decides. */
  readonly historyLength?: number | undefined;
  /** Metadata of the request. Only JSON-RPC of 0.3 has a field for it; elsewhere it is not sent. */
  readonly metadata?: Metadata | undefined;
}

export interface CancelOptions extends RemoteCallOptions {
  /** Metadata of the request. REST and gRPC of 0.3 have no field for it; there it is not sent. */
  readonly metadata?: Metadata | undefined;
}

/** By default the first page of 50 tasks, without artifacts. */
export interface ListOptions extends Partial<ListTasksRequest>, RemoteCallOptions {}

export interface SubscribeOptions extends FollowOptions {
  /** Resume after this event, if the agent keeps its events; otherwise the run starts with the whole task. */
  readonly lastEventId?: string | undefined;
}

/**
 * A remote agent, created by `connect`. It implements `Agent`, so it can be served again: in other
 * versions, on other bindings, at another URL.
 */
export class RemoteAgent implements Agent {
  readonly #connection: Connection;
  readonly #client: HttpClient | undefined;
  #cached: { readonly card: RawCard; readonly info: AgentInfo } | undefined;

  /** @param client fetches files by their links. Default: only files with bytes can be read. */
  constructor(connection: Connection, client?: HttpClient) {
    this.#connection = connection;
    this.#client = client;
  }

  /** The agent card as the agent wrote it. */
  get card(): RawCard {
    return this.#connection.card;
  }

  get name(): string {
    return typeof this.card["name"] === "string" ? this.card["name"] : new URL(this.url).host;
  }

  /** The URL of the interface in use. */
  get url(): string {
    return this.#connection.selectedInterface.url;
  }

  /** The version of A2A in use. */
  get version(): ProtocolVersion {
    return this.#connection.selectedInterface.version;
  }

  /** The binding in use. */
  get binding(): Binding {
    return this.#connection.selectedInterface.binding;
  }

  /**
   * Whether the agent recognizes a message that it has already received, so that one which may have
   * arrived is sent again: its card says that messages activate idempotency themselves, or an answer
   * has said that the header which activates it arrived.
   */
  get deduplicates(): boolean {
    return this.#connection.deduplicates === true;
  }

  /**
   * Sends a message and waits for the answer: until the task has ended or waits for its caller. If the
   * agent responds earlier, its task is polled.
   */
  async send(input: Input, options: SendOptions = {}): Promise<Answer> {
    const request = toRequest(input, options, options.wait !== false);
    const connection = this.#connection;
    const source = new ResumingSource(
      connection,
      { kind: "call", request },
      followSettings(options),
    );
    await source.complete(options.signal);
    return answerIn(source.snapshot, connection);
  }

  /** Sends a message and streams the answer; it survives lost connections. */
  stream(input: Input, options: StreamOptions = {}): Run {
    return this.#run({ kind: "stream", request: toRequest(input, options, true) }, options);
  }

  /** The events of an existing task until it ends, across questions and answers. */
  subscribe(taskId: string, options: SubscribeOptions = {}): Run {
    return this.#run({ kind: "subscribe", taskId, lastEventId: options.lastEventId }, options);
  }

  /** Starts or continues a conversation of several turns in one context. */
  conversation(options: ConversationOptions = {}): Conversation {
    return new Conversation(this.#connection, options);
  }

  /** Where the agent is, for the operators of a server that serves it. */
  get remote(): RemoteSource {
    const { url, version, binding, card } = this;
    return { url, version, binding, card };
  }

  /** What the card says, for a server that serves this agent. */
  get info(): AgentInfo {
    const { card, deduplicates } = this;
    // Cached: servers read it for every request, and it rarely changes.
    if (this.#cached?.card !== card || this.#cached.info.restart !== deduplicates) {
      // Until its task id is known, a restart can only resend the message.
      this.#cached = { card, info: { ...toAgentInfo(card, this.name), restart: deduplicates } };
    }
    return this.#cached.info;
  }

  /** Lets the remote agent work on a turn of a local task. */
  run(turn: Turn): AsyncIterable<AgentEvent | readonly AgentEvent[]> {
    return new BridgeRun(this, turn).read();
  }

  /** Its tasks, for the call trees of agents that call it. */
  called(): CalledTasks {
    return {
      where: "remote",
      address: this.url,
      read: async (taskId, { signal }) => {
        try {
          return { agent: this.name, ...taskFacts(await this.get(taskId, { signal })) };
        } catch (error) {
          const isUnknown = error instanceof RemoteError && error.code === ERRORS.TaskNotFound.code;
          if (isUnknown) return undefined;
          throw error;
        }
      },
    };
  }

  get(taskId: string, options: GetOptions = {}): Promise<Task> {
    const { historyLength, metadata } = options;
    const request = { taskId, ...requestFields({ historyLength, metadata }) };
    return this.#connection.call("getTask", request, callOptions(options));
  }

  /**
   * Reads the content of a file of a message or an artifact: its bytes, or what is at its address. The
   * address may be public, or at the origin of this agent. A file of a Convoke server is compared with
   * its digest.
   *
   * @example
   * const part = task.artifacts?.[0]?.parts.find(({ kind }) => kind === "file");
   * if (part?.kind === "file") await writeFile("report.pdf", await agent.readFile(part));
   */
  readFile(part: FilePart, options: ReadFileOptions = {}): Promise<Uint8Array> {
    return readFile(part, this.#client, options);
  }

  /** One page of the caller's tasks, newest first. Available in 1.0, and on REST of some 0.3 agents. */
  list(options: ListOptions = {}): Promise<TaskPage> {
    const { signal: _, extensions: _e, trace: _t, headers: _h, ...request } = options;
    const defaulted = { pageSize: 50, includeArtifacts: false, ...request };
    return this.#connection.call("listTasks", defaulted, callOptions(options));
  }

  /** Asks the agent to cancel a task; resolves with the updated task. */
  cancel(taskId: string, options: CancelOptions = {}): Promise<Task> {
    const request = { taskId, ...requestFields({ metadata: options.metadata }) };
    return this.#connection.call("cancelTask", request, callOptions(options));
  }

  /** Fetches the card for authenticated callers, which then replaces `card`. */
  extendedCard(options: RemoteCallOptions = {}): Promise<RawCard> {
    return this.#connection.call("getExtendedCard", undefined, callOptions(options));
  }

  /** The push configs of the agent's tasks. */
  get push(): RemotePush {
    return new RemotePush(this.#connection);
  }

  /** Closes idle connections. Running calls continue. */
  close(): void {
    this.#connection.close();
  }

  #run(request: RunRequest, options: FollowOptions): Run {
    const settings = followSettings(options);
    const connection = this.#connection;
    const source = new ResumingSource(connection, request, settings);
    return new Run({ connection, source, signal: options.signal });
  }
}

function toRequest(input: Input, options: StreamOptions, blocking: boolean): SendMessageRequest {
  const { pushConfig } = options;
  return {
    message: toMessage(input, options),
    blocking,
    ...requestFields(options),
    ...(pushConfig && { pushConfig }),
  };
}

function callOptions({ signal, extensions, trace, headers }: RemoteCallOptions): CallOptions {
  return { signal, context: { extensions, trace, headers } };
}

/** The agent info in a card, for a server that serves the agent. */
function toAgentInfo(card: RawCard, name: string): Omit<AgentInfo, "restart"> {
  return {
    name,
    description: textIn(card, "description") ?? `The agent ${name}.`,
    version: textIn(card, "version") ?? "1.0.0",
    skills: skillsIn(card["skills"]),
    inputModes: textsIn(card, "defaultInputModes") ?? ["text/plain"],
    outputModes: textsIn(card, "defaultOutputModes") ?? ["text/plain"],
    ...optional(card, "documentationUrl"),
    ...optional(card, "iconUrl"),
    // Whether it replies without a task is known only when it does.
    replies: true,
    keepStreamOnInterrupt: false,
    takesMessages: false,
  };
}

function skillsIn(value: unknown): readonly AgentSkill[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isObject).flatMap((skill) => {
    const id = textIn(skill, "id");
    if (id === undefined) return [];
    return [
      {
        id,
        name: textIn(skill, "name") ?? id,
        description: textIn(skill, "description") ?? "",
        tags: textsIn(skill, "tags") ?? [],
        ...optionalList(skill, "examples"),
        ...optionalList(skill, "inputModes"),
        ...optionalList(skill, "outputModes"),
      },
    ];
  });
}

function textIn(fields: JsonObject, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function textsIn(fields: JsonObject, name: string): readonly string[] | undefined {
  const value = fields[name];
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return value.filter((text) => typeof text === "string");
}

function optional<Name extends string>(
  fields: JsonObject,
  name: Name,
): Partial<Readonly<Record<Name, string>>> {
  const text = textIn(fields, name);
  return text === undefined ? {} : ({ [name]: text } as Readonly<Record<Name, string>>);
}

function optionalList<Name extends string>(
  fields: JsonObject,
  name: Name,
): Partial<Readonly<Record<Name, readonly string[]>>> {
  const list = textsIn(fields, name);
  return list === undefined ? {} : ({ [name]: list } as Readonly<Record<Name, readonly string[]>>);
}

function tooMany(pages: number): ClientError {
  return new ClientError(
    "unreadable",
    `the agent lists its push configs on more than ${pages} pages`,
  );
}

/** The push configs of an agent's tasks: the webhooks to which it sends updates. */
export class RemotePush {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Pushes updates of a task to a webhook. Replaces the config with the same id; without an id the agent chooses one. */
  set(taskId: string, target: PushTarget, options: RemoteCallOptions = {}): Promise<PushConfig> {
    return this.#connection.call("createPushConfig", { taskId, target }, callOptions(options));
  }

  /** A push config of a task; without an id, the one that was created without an id. */
  get(taskId: string, id?: string, options: RemoteCallOptions = {}): Promise<PushConfig> {
    const request = { taskId, ...(id !== undefined && { id }) };
    return this.#connection.call("getPushConfig", request, callOptions(options));
  }

  /** All push configs of a task; reads all pages. */
  async list(taskId: string, options: RemoteCallOptions = {}): Promise<readonly PushConfig[]> {
    const all: PushConfig[] = [];
    const read = (page: PageRequest) =>
      this.#connection.call("listPushConfigs", { taskId, ...page }, callOptions(options));
    for await (const { configs } of readPages(read, { tooMany })) all.push(...configs);
    return all;
  }

  /** Deletes a push config. Succeeds if it is already gone. */
  delete(taskId: string, id: string, options: RemoteCallOptions = {}): Promise<void> {
    return this.#connection.call("deletePushConfig", { taskId, id }, callOptions(options));
  }
}
