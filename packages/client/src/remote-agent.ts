import {
  CODECS,
  type Codec,
  type ListTasksRequest,
  type Message,
  type ProtocolVersion,
  type PublicEvent,
  type PushConfig,
  type PushTarget,
  type Task,
  type TaskPage,
  isTerminal,
  textOf,
} from "@convoke/protocol";
import type { RawCard } from "./discover.ts";
import { ClientError } from "./errors.ts";
import { EventStream } from "./event-stream.ts";
import { type Input, type MessageOptions, messageOf } from "./message-of.ts";
import type { CallOptions, JsonRpcTransport } from "./transports/jsonrpc.ts";

/** What an agent answered: a task, or one message without a task. */
export interface Answer {
  /** The answer as text; see `textOf`. */
  readonly text: string;
  readonly task?: Task;
  readonly message?: Message;
}

interface Abortable {
  readonly signal?: AbortSignal | undefined;
}

export interface SendOptions extends MessageOptions, Abortable {
  /** Where the agent pushes the updates of the task to, besides the answer. */
  readonly pushConfig?: PushTarget | undefined;
}

export interface GetOptions extends Abortable {
  /** At most so many of the newest messages; 0 leaves them out. */
  readonly historyLength?: number | undefined;
}

/** The first page of 50, without artifacts, unless said otherwise. */
export interface ListOptions extends Partial<ListTasksRequest>, Abortable {}

/** Goes on after `lastEventId` where the agent keeps its events; else begins with the whole task. */
export type SubscribeOptions = CallOptions;

/** An agent somewhere else. `connect` makes one. */
export class RemoteAgent {
  /** The agent card as the agent wrote it. */
  readonly card: RawCard;
  readonly #transport: JsonRpcTransport;
  readonly #codec: Codec;

  constructor(card: RawCard, transport: JsonRpcTransport) {
    this.card = card;
    this.#transport = transport;
    this.#codec = CODECS[transport.version];
  }

  get name(): string {
    return typeof this.card["name"] === "string" ? this.card["name"] : new URL(this.url).host;
  }

  /** The address of the interface that is spoken to. */
  get url(): string {
    return this.#transport.url;
  }

  /** The version of A2A that is spoken. */
  get version(): ProtocolVersion {
    return this.#transport.version;
  }

  /** Says something and waits for the answer: until the task ended, or waits for its caller. */
  async send(input: Input, options: SendOptions = {}): Promise<Answer> {
    const params = this.#sendParams(input, options);
    const result = await this.#transport.call("sendMessage", params, { signal: options.signal });
    const answer = this.#read(() => this.#codec.decodeSendResult(result));
    const text = textOf(answer);
    return answer.kind === "task" ? { text, task: answer } : { text, message: answer };
  }

  /** Says something and gives the events of the answer as they come. */
  stream(input: Input, options: SendOptions = {}): EventStream {
    const params = this.#sendParams(input, options);
    const { signal } = options;
    return this.#events(this.#transport.stream("sendStreamingMessage", params, { signal }));
  }

  /** The events of a task that exists already. */
  subscribe(taskId: string, options: SubscribeOptions = {}): EventStream {
    const params = this.#codec.encodeSubscribe({ taskId });
    const frames = this.#transport.stream("subscribeToTask", params, options);
    return this.#events(frames, options.lastEventId);
  }

  async get(taskId: string, options: GetOptions = {}): Promise<Task> {
    const { historyLength, signal } = options;
    const params = this.#codec.encodeGetTask({
      taskId,
      ...(historyLength !== undefined && { historyLength }),
    });
    const result = await this.#transport.call("getTask", params, { signal });
    return this.#read(() => this.#codec.decodeTask(result));
  }

  /** One page of the caller's tasks, newest first. Only 1.0 can list. */
  async list(options: ListOptions = {}): Promise<TaskPage> {
    if (this.version !== "1.0") {
      throw new ClientError(
        "unsupported",
        `listing tasks needs A2A 1.0; ${this.url} is spoken to in ${this.version}`,
      );
    }
    const { signal, ...request } = options;
    const params = this.#codec.encodeListTasks({
      pageSize: 50,
      includeArtifacts: false,
      ...request,
    });
    const result = await this.#transport.call("listTasks", params, { signal });
    return this.#read(() => this.#codec.decodeTaskPage(result));
  }

  /** Asks the agent to stop working on a task; the task as it is then. */
  async cancel(taskId: string, { signal }: Abortable = {}): Promise<Task> {
    const params = this.#codec.encodeCancelTask({ taskId });
    const result = await this.#transport.call("cancelTask", params, { signal });
    return this.#read(() => this.#codec.decodeTask(result));
  }

  /** Has the updates of a task pushed from now on. A config of the same id is replaced; without an id the agent chooses one. */
  async setPushConfig(
    taskId: string,
    target: PushTarget,
    { signal }: Abortable = {},
  ): Promise<PushConfig> {
    const params = this.#codec.encodeCreatePushConfig({ taskId, target });
    const result = await this.#transport.call("createPushConfig", params, { signal });
    return this.#read(() => this.#codec.decodePushConfig(result));
  }

  /** A push config of a task; without an id the one that was set without an id. */
  async getPushConfig(
    taskId: string,
    id?: string,
    { signal }: Abortable = {},
  ): Promise<PushConfig> {
    const params = this.#codec.encodeGetPushConfig({ taskId, ...(id !== undefined && { id }) });
    const result = await this.#transport.call("getPushConfig", params, { signal });
    return this.#read(() => this.#codec.decodePushConfig(result));
  }

  /** All push configs of a task, on however many pages the agent has them. */
  async listPushConfigs(
    taskId: string,
    { signal }: Abortable = {},
  ): Promise<readonly PushConfig[]> {
    const all: PushConfig[] = [];
    for (let pageToken = ""; ;) {
      const params = this.#codec.encodeListPushConfigs({ taskId, ...(pageToken && { pageToken }) });
      const result = await this.#transport.call("listPushConfigs", params, { signal });
      const page = this.#read(() => this.#codec.decodePushConfigPage(result));
      all.push(...page.configs);
      pageToken = page.nextPageToken;
      // An empty page ends it too: an agent that always promises more must not keep its caller forever.
      if (pageToken === "" || page.configs.length === 0) return all;
    }
  }

  /** Ends the pushing of one config. It may be gone already. */
  async deletePushConfig(taskId: string, id: string, { signal }: Abortable = {}): Promise<void> {
    const params = this.#codec.encodeDeletePushConfig({ taskId, id });
    await this.#transport.call("deletePushConfig", params, { signal });
  }

  #sendParams(input: Input, options: SendOptions): unknown {
    const message = messageOf(input, options);
    const { pushConfig } = options;
    return this.#codec.encodeSendMessage({
      message,
      blocking: true,
      ...(pushConfig && { pushConfig }),
    });
  }

  #events(frames: ReturnType<JsonRpcTransport["stream"]>, lastEventId?: string): EventStream {
    return new EventStream({
      frames,
      decode: (result) => this.#read(() => this.#codec.decodeEvent(result)),
      isLast: (event) => this.#isLast(event),
      lastEventId,
    });
  }

  /**
   * 0.3 says `final`; in 1.0 a stream may stay open while the task waits for
   * its caller, so only a terminal state ends it. A message is the whole answer.
   */
  #isLast(event: PublicEvent): boolean {
    if (event.kind === "message") return true;
    if (event.kind !== "status-update") return false;
    return isTerminal(event.status.state) || (this.version === "0.3" && event.final);
  }

  /** What the codec cannot read is the agent's mistake, whatever the codec calls it. */
  #read<T>(decode: () => T): T {
    try {
      return decode();
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      const message = `the answer of ${this.url} cannot be understood: ${problem}`;
      throw new ClientError("unreadable", message, { cause: error });
    }
  }
}
