import {
  type Binding,
  REQUEST_ID,
  Transcript,
  type WireClient,
  type WireHeaders,
  createWireClient,
} from "@convoke/check/wire";
import {
  CODECS,
  type CancelTaskRequest,
  type Codec,
  type CreatePushConfigRequest,
  type DeletePushConfigRequest,
  type GetPushConfigRequest,
  type GetTaskRequest,
  type ListPushConfigsRequest,
  type ListTasksRequest,
  type Message,
  type OperationName,
  PROTO_CODECS,
  type ProtocolVersion,
  type PublicEvent,
  type PushConfig,
  type PushConfigPage,
  type SendMessageRequest,
  type SubscribeRequest,
  type Task,
  type TaskPage,
} from "@convoke/protocol";
import { refusalFrom } from "./refusal.ts";

/** The server under test; its URL is known once the tests run. */
export interface Peer {
  readonly url: string;
}

/** An event of a stream. */
export interface Told {
  /** The cursor that a reader sends back to continue after the event. */
  readonly id: string;
  readonly event: PublicEvent;
}

/** How a stream is read. */
export interface Reading {
  readonly lastEventId?: string;
}

interface SpeakerOptions {
  readonly peer: Peer;
  readonly binding: Binding;
  readonly version: ProtocolVersion;
  readonly headers?: WireHeaders;
  /** Receives the headers of each response. */
  readonly onAnswer?: ((headers: WireHeaders) => void) | undefined;
}

/**
 * The raw client of the conformance kit with typed requests and results, the same on every binding
 * and in both versions, so that one test can run on all of them. An error response is thrown as a
 * `Refusal`.
 */
export class Speaker {
  readonly binding: Binding;
  readonly version: ProtocolVersion;
  readonly codec: Codec;
  readonly #options: SpeakerOptions;

  constructor(options: SpeakerOptions) {
    this.binding = options.binding;
    this.version = options.version;
    this.codec = (options.binding === "jsonrpc" ? CODECS : PROTO_CODECS)[options.version];
    this.#options = options;
  }

  /** The same speaker with additional headers, or metadata, on all requests. */
  with(headers: WireHeaders, onAnswer?: (headers: WireHeaders) => void): Speaker {
    const { headers: own, onAnswer: earlier, ...rest } = this.#options;
    return new Speaker({ ...rest, headers: { ...own, ...headers }, onAnswer: onAnswer ?? earlier });
  }

  /** Sends any params, valid or not, and returns the JSON of the result. */
  async call(
    operation: OperationName,
    params: unknown,
    headers: WireHeaders = {},
  ): Promise<unknown> {
    const response = await this.#client().call({ operation, params, headers });
    this.#options.onAnswer?.(response.headers);
    if (this.binding === "jsonrpc") {
      const http = response.kind === "error" ? response.error.http : 200;
      expectEnvelope(response.body, http);
    }
    if (response.kind === "error") throw refusalFrom(response.error, response.body);
    return response.result;
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
    const headers: WireHeaders = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    const opened = await this.#client().open({ operation, params, headers });
    this.#options.onAnswer?.(opened.headers);
    if (opened.kind === "error") throw refusalFrom(opened.error, opened.body);
    for await (const item of opened.events) {
      if (this.binding === "jsonrpc") expectEnvelope(item.envelope, 200);
      if (item.error !== undefined) throw refusalFrom(item.error, item.envelope);
      const { id, json } = this.binding === "grpc" ? takeCursor(item.json) : item;
      yield { id, event: this.codec.decodeEvent(json) };
    }
  }

  #client(): WireClient {
    const { peer, binding, version, headers = {} } = this.#options;
    return createWireClient({
      target: { binding, version, url: peer.url, tenant: "", headers },
      signal: new AbortController().signal,
      transcript: new Transcript(),
    });
  }
}

/** The codes of a body that could not be read, so that its id is not known. */
const UNREAD: readonly unknown[] = [-32700, -32600];

const DENIED: readonly unknown[] = [403, 429];

/**
 * A JSON-RPC response has either a result or an error, and the id of its request. A server that
 * rejects a request before reading the body, by the HTTP status or as unreadable, sends a null id. A
 * caller that lacks a permission is rejected before or after that.
 */
function expectEnvelope(body: unknown, http: number | undefined): void {
  const envelope = body as {
    readonly jsonrpc?: unknown;
    readonly id?: unknown;
    readonly error?: { readonly code?: unknown };
  };
  const isOne = Object.hasOwn(envelope, "result") !== Object.hasOwn(envelope, "error");
  const isUnread = http !== 200 || UNREAD.includes(envelope.error?.code);
  const isDenied = DENIED.includes(http) && envelope.id === REQUEST_ID;
  const isMine = isDenied || envelope.id === (isUnread ? null : REQUEST_ID);
  if (envelope.jsonrpc === "2.0" && isMine && isOne) return;
  throw new Error(`This is no answer to ${REQUEST_ID}: ${JSON.stringify(body)}`);
}

interface Cursored {
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** gRPC has no event ids, so our server puts the cursor into the metadata of the event. */
function takeCursor(json: unknown): { readonly id: string; readonly json: unknown } {
  const [[kind, event] = ["", {}]] = Object.entries(json as Readonly<Record<string, Cursored>>);
  const { metadata, ...rest } = event;
  const { "last-event-id": id, ...others } = metadata ?? {};
  const kept = Object.keys(others).length === 0 ? rest : { ...rest, metadata: others };
  return { id: typeof id === "string" ? id : "", json: { [kind]: kept } };
}
