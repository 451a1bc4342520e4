import type {
  CancelTaskRequest,
  Codec,
  CreatePushConfigRequest,
  DeletePushConfigRequest,
  GetPushConfigRequest,
  GetTaskRequest,
  ListPushConfigsRequest,
  ListTasksRequest,
  Message,
  OperationName,
  ProtocolVersion,
  PublicEvent,
  PushConfig,
  PushConfigPage,
  SendMessageRequest,
  SubscribeRequest,
  Task,
  TaskPage,
} from "@convoke/protocol";
import type { Call, Headers, Transport } from "./transport.ts";

/** An event as a stream told it. */
export interface Told {
  /** What a reader sends back to go on after it. */
  readonly id: string;
  readonly event: PublicEvent;
}

/** What a stream is read with. */
export interface Reading {
  readonly lastEventId?: string;
}

/**
 * Says the same things on every binding and in both versions, so that one test can be held with
 * all of them. What the server refuses is thrown as a `Refusal`.
 */
export class Speaker {
  readonly binding: Transport["binding"];
  readonly version: ProtocolVersion;
  readonly codec: Codec;
  readonly #transport: Transport;

  constructor(transport: Transport, codec: Codec) {
    this.binding = transport.binding;
    this.version = transport.version;
    this.codec = codec;
    this.#transport = transport;
  }

  /** The same speaker with headers, or metadata, on all that it says; `onAnswer` is told those of answers. */
  with(headers: Headers, onAnswer?: (headers: Headers) => void): Speaker {
    const transport = this.#transport;
    const dressed = (call: Call): Call => ({
      ...call,
      headers: { ...headers, ...call.headers },
      onAnswer: onAnswer ?? call.onAnswer,
    });
    const { binding, version } = transport;
    return new Speaker(
      {
        binding,
        version,
        call: (call) => transport.call(dressed(call)),
        open: (call) => transport.open(dressed(call)),
      },
      this.codec,
    );
  }

  /** Sends anything, well-formed or not, and answers with the JSON that came back. */
  call(operation: OperationName, params: unknown, headers: Headers = {}): Promise<unknown> {
    return this.#transport.call({ operation, params: params as object, headers });
  }

  async send(request: SendMessageRequest): Promise<Task | Message> {
    const params = this.codec.encodeSendMessage(request);
    return this.codec.decodeSendResult(await this.call("sendMessage", params));
  }

  /** Sends, and expects a task. */
  async sendTask(request: SendMessageRequest): Promise<Task> {
    const result = await this.send(request);
    if (result.kind !== "task") throw new Error(`This is no task: ${JSON.stringify(result)}`);
    return result;
  }

  stream(request: SendMessageRequest, reading?: Reading): AsyncGenerator<Told, void> {
    return this.#open("sendStreamingMessage", this.codec.encodeSendMessage(request), reading);
  }

  subscribe(request: SubscribeRequest, reading?: Reading): AsyncGenerator<Told, void> {
    return this.#open("subscribeToTask", this.codec.encodeSubscribe(request), reading);
  }

  async get(request: GetTaskRequest): Promise<Task> {
    return this.codec.decodeTask(await this.call("getTask", this.codec.encodeGetTask(request)));
  }

  async list(request: Partial<ListTasksRequest> = {}): Promise<TaskPage> {
    const params = this.codec.encodeListTasks({
      pageSize: 50,
      includeArtifacts: false,
      ...request,
    });
    return this.codec.decodeTaskPage(await this.call("listTasks", params));
  }

  async cancel(request: CancelTaskRequest): Promise<Task> {
    const params = this.codec.encodeCancelTask(request);
    return this.codec.decodeTask(await this.call("cancelTask", params));
  }

  async setPush(request: CreatePushConfigRequest): Promise<PushConfig> {
    const params = this.codec.encodeCreatePushConfig(request);
    return this.codec.decodePushConfig(await this.call("createPushConfig", params));
  }

  async getPush(request: GetPushConfigRequest): Promise<PushConfig> {
    const params = this.codec.encodeGetPushConfig(request);
    return this.codec.decodePushConfig(await this.call("getPushConfig", params));
  }

  async listPush(request: ListPushConfigsRequest): Promise<PushConfigPage> {
    const params = this.codec.encodeListPushConfigs(request);
    return this.codec.decodePushConfigPage(await this.call("listPushConfigs", params));
  }

  async deletePush(request: DeletePushConfigRequest): Promise<void> {
    await this.call("deletePushConfig", this.codec.encodeDeletePushConfig(request));
  }

  async *#open(
    operation: OperationName,
    params: unknown,
    { lastEventId }: Reading = {},
  ): AsyncGenerator<Told, void> {
    const headers: Headers = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    const events = this.#transport.open({ operation, params: params as object, headers });
    for await (const { id, json } of events) yield { id, event: this.codec.decodeEvent(json) };
  }
}
