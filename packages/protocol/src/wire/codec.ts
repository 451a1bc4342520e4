import type { AgentCardFacts } from "../card/facts.ts";
import type { A2AError } from "../errors.ts";
import type { PublicEvent } from "../events.ts";
import type { Message } from "../message.ts";
import type { PushConfig } from "../push-config.ts";
import type {
  CancelTaskRequest,
  CreatePushConfigRequest,
  DeletePushConfigRequest,
  GetPushConfigRequest,
  GetTaskRequest,
  ListPushConfigsRequest,
  ListTasksRequest,
  PushConfigPage,
  SendMessageRequest,
  SubscribeRequest,
  TaskPage,
} from "../requests.ts";
import type { Task } from "../task.ts";
import type { ProtocolVersion } from "../version.ts";

/** How things are spelled: 0.3 has one JSON for JSON-RPC and another for REST and gRPC (0.3 §3.2). */
export type WireDialect = "0.3" | "0.3-proto" | "1.0";

/**
 * One wire version: a pure function from JSON to the model and back. Nothing
 * outside `wire/` knows how a version spells things. The server decodes
 * requests and encodes answers; the client does the reverse.
 */
export interface Codec {
  readonly version: ProtocolVersion;
  readonly dialect: WireDialect;

  decodeSendMessage(params: unknown): SendMessageRequest;
  decodeGetTask(params: unknown): GetTaskRequest;
  decodeListTasks(params: unknown): ListTasksRequest;
  decodeCancelTask(params: unknown): CancelTaskRequest;
  decodeSubscribe(params: unknown): SubscribeRequest;
  decodeCreatePushConfig(params: unknown): CreatePushConfigRequest;
  decodeGetPushConfig(params: unknown): GetPushConfigRequest;
  decodeListPushConfigs(params: unknown): ListPushConfigsRequest;
  decodeDeletePushConfig(params: unknown): DeletePushConfigRequest;

  encodeSendMessage(request: SendMessageRequest): unknown;
  encodeGetTask(request: GetTaskRequest): unknown;
  encodeListTasks(request: ListTasksRequest): unknown;
  encodeCancelTask(request: CancelTaskRequest): unknown;
  encodeSubscribe(request: SubscribeRequest): unknown;
  encodeCreatePushConfig(request: CreatePushConfigRequest): unknown;
  encodeGetPushConfig(request: GetPushConfigRequest): unknown;
  encodeListPushConfigs(request: ListPushConfigsRequest): unknown;
  encodeDeletePushConfig(request: DeletePushConfigRequest): unknown;

  encodeTask(task: Task): unknown;
  decodeTask(value: unknown): Task;
  encodeTaskPage(page: TaskPage, includeArtifacts: boolean): unknown;
  decodeTaskPage(value: unknown): TaskPage;
  encodeSendResult(result: Task | Message): unknown;
  decodeSendResult(value: unknown): Task | Message;
  encodeEvent(event: PublicEvent): unknown;
  decodeEvent(value: unknown): PublicEvent;
  encodePushConfig(config: PushConfig): unknown;
  decodePushConfig(value: unknown): PushConfig;
  encodePushConfigPage(page: PushConfigPage): unknown;
  decodePushConfigPage(value: unknown): PushConfigPage;
  /** What a delete is answered with: nothing, in the words of the version. */
  encodeDeleted(): unknown;

  /**
   * An event as JSON text. `json` is the model's own text of it, which is
   * already the answer wherever the version spells the event as the model does.
   */
  eventText(event: PublicEvent, json: string): string;

  encodeError(error: A2AError): JsonRpcError;
  encodeCard(facts: AgentCardFacts): object;
}

/** The error object of JSON-RPC 2.0. */
export interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}
