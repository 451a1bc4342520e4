import {
  type Codec,
  CODECS,
  type ErrorReason,
  GRPC_STATUS,
  type ListTasksRequest,
  type Message,
  PROTO_CODECS,
  type PushTarget,
  type SendMessageRequest,
  userMessage,
} from "@convoke/protocol";
import type { CheckSettings } from "../settings.ts";
import { Failed, Skipped } from "../verdict.ts";
import type { Answer, Call, Conversation, Opened, Served, Speaker, Target } from "../wire/call.ts";
import { describeReason, isRefusedAs } from "../wire/is-refused-as.ts";
import type { WireError } from "../wire/wire-error.ts";
import type { CardView } from "./card-view.ts";
import type { Once } from "./once.ts";
import { type Story, readStory } from "./story.ts";
import { randomUUID } from "node:crypto";
import type { JsonObject } from "../wire/json.ts";
import { GrpcSpeaker } from "../wire/grpc-speaker.ts";
import { JsonRpcSpeaker } from "../wire/jsonrpc-speaker.ts";
import { RestSpeaker } from "../wire/rest-speaker.ts";

/** What all probes of one interface share. */
export interface Stage {
  readonly target: Target;
  readonly card: CardView;
  readonly settings: CheckSettings;
  readonly once: Once;
  /** Tasks that were left unfinished, to be canceled in the end. */
  readonly leftovers: string[];
  /** The same agent by its other interfaces of this version. */
  readonly siblings: readonly Stage[];
}

type Options = Pick<Call, "headers" | "query">;

/** Where a probe takes place: somebody to speak with, and what is known about them. */
export class Scene {
  readonly stage: Stage;
  readonly speaker: Speaker;
  readonly requests: Requests;
  readonly transcript: Conversation["transcript"];
  readonly #conversation: Conversation;

  constructor(stage: Stage, { signal, transcript }: Omit<Conversation, "target">) {
    this.stage = stage;
    this.#conversation = { target: stage.target, signal, transcript };
    this.transcript = transcript;
    this.speaker = speakerFor(this.#conversation);
    this.requests = new Requests(stage.target);
  }

  get card(): CardView {
    return this.stage.card;
  }

  get settings(): CheckSettings {
    return this.stage.settings;
  }

  get signal(): AbortSignal {
    return this.#conversation.signal;
  }

  /** The same scene at another interface, or with other headers. */
  at(stage: Stage): Scene {
    return new Scene(stage, this.#conversation);
  }

  call(operation: Call["operation"], params: unknown, options: Options = {}): Promise<Answer> {
    return this.speaker.call({ operation, params, ...options });
  }

  /** The result of a call that must be served. */
  async served(answer: Promise<Answer>, expected: string): Promise<Served> {
    const got = await answer;
    if (got.kind === "served") return got;
    skipIfBusy(got.error);
    throw new Failed(`${expected}, not an error`, got.exchange);
  }

  /** For a call that must be refused, as one of these if any are named. */
  async refused(answer: Promise<Answer>, ...reasons: readonly ErrorReason[]): Promise<WireError> {
    const got = await answer;
    if (got.kind === "served") throw new Failed(this.#refusal(reasons), got.exchange);
    this.#judge(got.error, reasons);
    return got.error;
  }

  /** Opens a stream that must be served. */
  async open(operation: Call["operation"], params: unknown): Promise<Opened> {
    const opened = await this.speaker.open({ operation, params });
    if (opened.kind === "opened") return opened;
    skipIfBusy(opened.error);
    throw new Failed("a stream, not an error", opened.exchange);
  }

  /** For a stream that must be refused, before it begins or as the first thing it says. */
  async refusedStream(
    operation: Call["operation"],
    params: unknown,
    ...reasons: readonly ErrorReason[]
  ): Promise<void> {
    const opened = await this.speaker.open({ operation, params });
    if (opened.kind === "refused") return this.#judge(opened.error, reasons);
    const story = await readStory(opened, this.transcript, () => true);
    const error = story.items[0]?.error;
    if (error === undefined) throw new Failed(this.#refusal(reasons), story.exchange);
    this.#judge(error, reasons);
  }

  read(opened: Opened, enough?: Parameters<typeof readStory>[2]): Promise<Story> {
    return readStory(opened, this.transcript, enough);
  }

  #judge(error: WireError, reasons: readonly ErrorReason[]): void {
    skipIfBusy(error);
    if (error.reason === "Unauthenticated" || error.reason === "Forbidden") {
      if (!reasons.includes(error.reason)) {
        throw new Skipped("the server refused the credentials for this");
      }
    }
    const { version } = this.speaker;
    if (reasons.length === 0 || reasons.some((reason) => isRefusedAs(error, reason, version)))
      return;
    throw new Failed(this.#refusal(reasons), this.transcript.last);
  }

  #refusal(reasons: readonly ErrorReason[]): string {
    if (reasons.length === 0) return "an error";
    return `the error ${reasons.map(describeReason).join(" or ")}`;
  }
}

/** A server that has too much to do may say so; that says nothing about the rest. */
function skipIfBusy({ http = 0, grpc = 0 }: WireError): void {
  const status = GRPC_STATUS[grpc];
  const isBusy = http === 429 || http === 503 || status === "RESOURCE_EXHAUSTED";
  if (isBusy || status === "UNAVAILABLE") throw new Skipped("the server says that it is too busy");
}

/** Params of every operation in the JSON of an interface. A probe spoils what it likes. */
class Requests {
  readonly #codec: Codec;

  constructor({ binding, version }: Pick<Target, "binding" | "version">) {
    this.#codec = (binding === "jsonrpc" ? CODECS : PROTO_CODECS)[version];
  }

  /** Where the parts of a message are: REST and gRPC of 0.3 call them content. */
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

/** Who speaks the binding of the target. */
function speakerFor(conversation: Conversation): Speaker {
  switch (conversation.target.binding) {
    case "jsonrpc":
      return new JsonRpcSpeaker(conversation);
    case "rest":
      return new RestSpeaker(conversation);
    case "grpc":
      return new GrpcSpeaker(conversation);
    default:
      return conversation.target.binding satisfies never;
  }
}
