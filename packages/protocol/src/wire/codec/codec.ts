import type { JsonRpcError } from "../../framing/jsonrpc.ts";
import type { AgentCardFacts } from "../../model/agent.ts";
import type { A2AError } from "../../model/errors.ts";
import type { PublicEvent } from "../../model/events.ts";
import type { Message } from "../../model/message.ts";
import type {
  CancelTaskRequest,
  CreatePushConfigRequest,
  DeletePushConfigRequest,
  GetPushConfigRequest,
  GetTaskRequest,
  ListPushConfigsRequest,
  ListTasksRequest,
  PushConfig,
  PushConfigPage,
  SendMessageRequest,
  SubscribeRequest,
  TaskPage,
} from "../../model/requests.ts";
import type { Task } from "../../model/task.ts";
import type { ProtocolVersion } from "../../model/operations.ts";

/** The JSON formats: 0.3 has one for JSON-RPC and another for REST and gRPC (0.3 §3.2). */
export type WireDialect = "0.3" | "0.3-proto" | "1.0";

/**
 * One wire format: pure functions from JSON to the model and back. Nothing outside `wire/` knows
 * the format of a version. The server decodes requests and encodes responses; the client does the
 * reverse.
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
  /** The empty response to a delete. */
  encodeDeleted(): unknown;

  /**
   * An event as JSON text. `json` is the serialized model event, which is returned unchanged if the
   * version writes the event as the model does.
   */
  eventText(event: PublicEvent, json: string): string;

  encodeError(error: A2AError): JsonRpcError;
  encodeCard(facts: AgentCardFacts): object;
}
