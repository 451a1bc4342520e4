import { randomUUID } from "node:crypto";
import {
  CODECS,
  type Codec,
  type ErrorReason,
  GRPC_STATUS,
  type ListTasksRequest,
  type Message,
  PROTO_CODECS,
  type PushTarget,
  type SendMessageRequest,
  userMessage,
} from "@convoke/protocol";
import type { JsonObject } from "@convoke/protocol/internal";
import type {
  Call,
  OpenStream,
  ResultResponse,
  Target,
  WireClient,
  WireResponse,
  WireSession,
} from "../wire/client.ts";
import { type WireError, describeReason, hasReason } from "../wire/errors.ts";
import { Failed, Skipped } from "../wire/exchange.ts";
import { createWireClient } from "../wire/index.ts";
import type { CardView } from "./card.ts";
import { type RecordedStream, recordStream } from "./observed.ts";
import type { CheckSettings } from "./settings.ts";

/** What all probes of one interface share. */
export interface Stage {
  readonly target: Target;
  readonly card: CardView;
  readonly settings: CheckSettings;
  readonly shared: SharedFixtures;
  /** The messages for the agent, which all interfaces share. */
  readonly messages: AgentMessages;
  /** Ids of tasks that probes left unfinished; they are canceled at the end. */
  readonly unfinishedTasks: string[];
  /** The other interfaces of the same agent and version that come before this one. */
  readonly siblings: readonly Stage[];
}

/** The messages that bring about what probes need. The first probe that needs one finds it. */
export interface AgentMessages {
  /** `undefined` before it is known, "" if no message has this effect. */
  slow?: string;
  ask?: string;
}

/**
 * Fixtures that several probes need and only the first creates. If creating one fails, the first
 * probe fails and the others are skipped: one mistake of a server is reported once.
 */
export class SharedFixtures {
  readonly #created = new Map<string, unknown>();

  async get<Value>(name: string, create: () => Promise<Value>): Promise<Value> {
    if (this.#created.has(name)) {
      const created = this.#created.get(name);
      if (created instanceof Skipped) throw created;
      return created as Value;
    }
    try {
      const value = await create();
      this.#created.set(name, value);
      return value;
    } catch (error) {
      const reason = `could not get ${name}; another probe reports why`;
      this.#created.set(name, error instanceof Skipped ? error : new Skipped(reason));
      throw error;
    }
  }
}

type CallOptions = Pick<Call, "headers" | "query">;

/** What one probe works with: a raw client, ready-made requests, and expectations about responses. */
export class Scene {
  readonly stage: Stage;
  readonly client: WireClient;
  readonly requests: Requests;
  readonly transcript: WireSession["transcript"];
  readonly #session: WireSession;

  constructor(stage: Stage, { signal, transcript }: Omit<WireSession, "target">) {
    this.stage = stage;
    this.#session = { target: stage.target, signal, transcript };
    this.transcript = transcript;
    this.client = createWireClient(this.#session);
    this.requests = new Requests(stage.target);
  }

  get card(): CardView {
    return this.stage.card;
  }

  get settings(): CheckSettings {
    return this.stage.settings;
  }

  get signal(): AbortSignal {
    return this.#session.signal;
  }

  /** The same probe at another interface, or with other headers. */
  withStage(stage: Stage): Scene {
    return new Scene(stage, this.#session);
  }

  call(
    operation: Call["operation"],
    params: unknown,
    options: CallOptions = {},
  ): Promise<WireResponse> {
    return this.client.call({ operation, params, ...options });
  }

  /** Fails unless the call succeeds. */
  async expectResult(call: Promise<WireResponse>, expected: string): Promise<ResultResponse> {
    const response = await call;
    if (response.kind === "result") return response;
    skipIfBusy(response.error);
    throw new Failed(`${expected}, not an error`, response.exchange);
  }

  /** Fails unless the call is rejected, with one of these reasons if any are given. */
  async expectError(
    call: Promise<WireResponse>,
    ...reasons: readonly ErrorReason[]
  ): Promise<WireError> {
    const response = await call;
    if (response.kind === "result") throw new Failed(describeExpected(reasons), response.exchange);
    this.#checkReason(response.error, reasons);
    return response.error;
  }

  /** Opens a stream; fails if it is rejected. */
  async open(operation: Call["operation"], params: unknown): Promise<OpenStream> {
    const opened = await this.client.open({ operation, params });
    if (opened.kind === "stream") return opened;
    skipIfBusy(opened.error);
    throw new Failed("a stream, not an error", opened.exchange);
  }

  /** Fails unless the stream is rejected, either before it starts or with its first event. */
  async expectStreamError(
    operation: Call["operation"],
    params: unknown,
    ...reasons: readonly ErrorReason[]
  ): Promise<void> {
    const opened = await this.client.open({ operation, params });
    if (opened.kind === "error") return this.#checkReason(opened.error, reasons);
    const recorded = await this.readStream(opened, () => true);
    const error = recorded.items[0]?.error;
    if (error === undefined) throw new Failed(describeExpected(reasons), recorded.exchange);
    this.#checkReason(error, reasons);
  }

  /** Reads a stream to its end, or until `isEnough`. */
  readStream(
    opened: OpenStream,
    isEnough?: Parameters<typeof recordStream>[2],
  ): Promise<RecordedStream> {
    return recordStream(opened, this.transcript, isEnough);
  }

  #checkReason(error: WireError, reasons: readonly ErrorReason[]): void {
    skipIfBusy(error);
    const isAuth = error.reason === "Unauthenticated" || error.reason === "Forbidden";
    if (isAuth && error.reason !== undefined && !reasons.includes(error.reason)) {
      throw new Skipped("the server rejected the credentials for this request");
    }
    const { version } = this.client;
    if (reasons.length === 0 || reasons.some((reason) => hasReason(error, reason, version))) return;
    throw new Failed(describeExpected(reasons), this.transcript.last);
  }
}

function describeExpected(reasons: readonly ErrorReason[]): string {
  if (reasons.length === 0) return "an error";
  return `the error ${reasons.map(describeReason).join(" or ")}`;
}

/** An overloaded server may say so; that is no verdict on the requirement. */
function skipIfBusy({ http = 0, grpc = 0 }: WireError): void {
  const status = GRPC_STATUS[grpc];
  const isBusy = http === 429 || http === 503 || status === "RESOURCE_EXHAUSTED";
  if (isBusy || status === "UNAVAILABLE") throw new Skipped("the server says that it is too busy");
}

/** Valid params of every operation in the JSON of an interface. Probes change what they test. */
class Requests {
  readonly #codec: Codec;

  constructor({ binding, version }: Pick<Target, "binding" | "version">) {
    this.#codec = (binding === "jsonrpc" ? CODECS : PROTO_CODECS)[version];
  }

  /** The name of the parts of a message: REST and gRPC 0.3 call them `content`. */
  get partsName(): "parts" | "content" {
    return this.#codec.dialect === "0.3-proto" ? "content" : "parts";
  }

  send(
    text: string,
    message: Partial<Message> = {},
    options: Partial<SendMessageRequest> = {},
  ): JsonObject {
    const whole = { ...userMessage(randomUUID(), text), ...message };
    return this.#codec.encodeSendMessage({
      message: whole,
      blocking: true,
      ...options,
    }) as JsonObject;
  }

  get(taskId: string, historyLength?: number): unknown {
    return this.#codec.encodeGetTask({
      taskId,
      ...(historyLength !== undefined && { historyLength }),
    });
  }

  list(request: Partial<ListTasksRequest> = {}): JsonObject {
    const whole = { pageSize: 50, includeArtifacts: false, ...request };
    return this.#codec.encodeListTasks(whole) as JsonObject;
  }

  cancel(taskId: string): unknown {
    return this.#codec.encodeCancelTask({ taskId });
  }

  subscribe(taskId: string): unknown {
    return this.#codec.encodeSubscribe({ taskId });
  }

  createPush(taskId: string, target: PushTarget): unknown {
    return this.#codec.encodeCreatePushConfig({ taskId, target });
  }

  getPush(taskId: string, id: string): unknown {
    return this.#codec.encodeGetPushConfig({ taskId, id });
  }

  listPush(taskId: string): unknown {
    return this.#codec.encodeListPushConfigs({ taskId });
  }

  deletePush(taskId: string, id: string): unknown {
    return this.#codec.encodeDeletePushConfig({ taskId, id });
  }
}
