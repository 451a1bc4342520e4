// The public surface of this package. A name added here is a promise; keep it short.

// The model
export {
  type A2ADataPart,
  type A2AFilePart,
  type A2APart,
  type A2ATextPart,
  type DataPart,
  type FileContent,
  type FilePart,
  type StoredFile,
  type Metadata,
  type TextPart,
  isPlainText,
  joinAll,
  joinParts,
  partsAfter,
  textOfParts,
  textPart,
} from "./model/part.ts";
export { type Message, type Role, agentMessage, userMessage } from "./model/message.ts";
export type { A2AArtifact } from "./model/task.ts";
export {
  TASK_STATES,
  type Task,
  type TaskState,
  type TaskStatus,
  isInterrupted,
  isTerminal,
  mayFollow,
  textOf,
  withHistoryLength,
} from "./model/task.ts";
export {
  type AgentEvent,
  type ArtifactUpdateEvent,
  type PublicEvent,
  type StatusUpdateEvent,
  TASK_METADATA,
  type TaskEvent,
  isFinal,
  isPublic,
} from "./model/events.ts";
export {
  type CustomInternalEvent,
  ENGINE_EVENTS,
  type InternalEvent,
  type InternalEventBase,
  type MessageReceivedEvent,
  type SleepEvent,
  isMessageReceived,
  isResumable,
  isSleep,
  isWokenBy,
} from "./model/journal.ts";
export { applyEvent } from "./model/events.ts";

// The operations and their errors
export {
  type Method,
  OPERATIONS,
  type Operation,
  type OperationName,
  REST_ROUTES,
  type RestRoute,
  findMethod,
} from "./model/operations.ts";
export { type ProtocolVersion, parseVersion } from "./model/operations.ts";
export type {
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
} from "./model/requests.ts";
export {
  A2AError,
  type A2AErrorOptions,
  ERRORS,
  type ErrorReason,
  GRPC_STATUS,
  type SpecPatch,
  invalidParams,
} from "./model/errors.ts";

// The seam between servers and agents
export { checkAgentInfo, completeAgentInfo } from "./model/agent-info.ts";
export {
  type Agent,
  AgentChanged,
  type AgentEnvironment,
  type AgentGrants,
  type AgentTool,
  type Beginning,
  type TracingOptions,
  type Caller,
  type ErasureScope,
  type LocalAgent,
  type RemoteSource,
  ServerStopping,
  type ToolGrant,
  type Turn,
  type TurnFiles,
} from "./model/agent.ts";
export {
  type CalledTasks,
  type TaskCall,
  type TaskFacts,
  callIn,
  joinCalls,
  taskFacts,
} from "./model/task-calls.ts";
export type { Dialect, DialectSnapshot, DialectStream } from "./model/dialect.ts";
export type { AgentCommand, CommandArgument, CommandCall, CommandResult } from "./model/command.ts";
export {
  type FollowOptions,
  type KeyValueStore,
  type KeyedValue,
  NO_VALUE,
  type OpenValues,
  type StoredValue,
  followValue,
  updateValue,
} from "./model/key-values.ts";
export { METRICS, type MetricName, type Metrics, NO_METRICS } from "./model/metrics.ts";
export {
  BEARER_SECURITY,
  type CardSecurity,
  type SecurityRequirement,
  type SecurityScheme,
  readCardSecurity,
} from "./model/security.ts";
export type {
  AgentCapabilities,
  AgentCardFacts,
  AgentExtension,
  AgentInfo,
  AgentInterface,
  AgentSkill,
  InputTimeout,
  RequiredScopes,
} from "./model/agent.ts";

// The connection of a client to an agent, and its errors
export {
  type Binding,
  type CallOptions,
  type Calls,
  ClientError,
  type ClientErrorKind,
  type ClientErrorOptions,
  type Connection,
  type RawCard,
  RemoteError,
  type RemoteErrorOptions,
  type RequestContext,
  type SelectedInterface,
  type StreamItem,
  type StreamOptions,
  type Streams,
  type TraceContext,
  type TraceHeaders,
  parseTraceHeaders,
  traceHeaders,
} from "./model/connection.ts";

// The polling protocol that came before A2A
export {
  type A2AMessage,
  type A2ATask,
  type A2ATaskState,
  a2aMessage,
  toA2ATask,
} from "./inbound/a2a-task.ts";
export {
  type A2ATaskParams,
  type A2ATaskSendRequest,
  INBOUND_TIMEOUT_MS,
  type InboundAgent,
  MAX_INBOUND_DEPTH,
  chooseAgent,
  readTaskRequest,
} from "./inbound/task-request.ts";
export {
  type A2AEnvironment,
  INBOUND_PER_MINUTE,
  readA2AEnvironment,
} from "./inbound/environment.ts";

// Extensions
export { EXTENSIONS, type ExtensionName, dataOfType } from "./extensions/extensions.ts";
export {
  checkAgentExtensions,
  formatExtensionList,
  parseExtensionList,
} from "./extensions/negotiation.ts";
export { checkExtensionData } from "./extensions/negotiation.ts";
export { type ResumptionCursor, resumptionCursor } from "./extensions/extensions.ts";
export { type SkillChoice, chosenSkill, unknownSkill } from "./extensions/skill.ts";
export {
  type ClientTool,
  type ClientTools,
  type ToolPartType,
  type ToolResult,
  type ToolUse,
  declaredTools,
  toolResult,
  toolUsesIn,
} from "./extensions/client-tools.ts";
export {
  type ToolActivityResult,
  type ToolActivityType,
  type ToolActivityUse,
  toolActivity,
} from "./extensions/tool-activity.ts";
export { CODER_DIALECTS } from "./extensions/coder.ts";
export { argumentSchema, boundedSchema } from "./extensions/argument-schema.ts";
export {
  APPROVAL_OPTIONS,
  APPROVAL_OUTCOMES,
  APPROVAL_RISKS,
  type Approval,
  type ApprovalAnswer,
  type ApprovalDecision,
  type ApprovalOption,
  type ApprovalOrigin,
  type ApprovalOutcome,
  type ApprovalPartType,
  type ApprovalPreview,
  type ApprovalRisk,
  approvalPath,
  approvalQuestion,
  checkApproval,
  checkApprovalAnswer,
  digestArguments,
} from "./extensions/approvals.ts";
export {
  type ApprovalRequests,
  answerApproval,
  approvalsIn,
  deciderOf,
  openApprovals,
  withDecider,
} from "./extensions/approvals.ts";
export {
  BUDGET_BOUNDS,
  type Budget,
  type BudgetLimit,
  type BudgetReport,
  readBudget,
  readBudgetReport,
} from "./extensions/budget.ts";

// The wire
export type { Codec, WireDialect } from "./wire/codec/codec.ts";
export { CODECS, LEGACY_CODECS, PROTO_CODECS } from "./wire/codecs.ts";
export { legacyFormInCard, legacyFormInResponse } from "./wire/legacy/requests.ts";
export { answeredTaskId, fromLegacyRequest } from "./wire/legacy/requests.ts";
export {
  type JsonRpcError,
  type JsonRpcId,
  type JsonRpcRequest,
  checkId,
  errorText,
  idOf,
  parseRequest,
  resultPrefix,
  resultText,
} from "./framing/jsonrpc.ts";
export {
  SSE_KEEP_ALIVE,
  SSE_RECONNECT,
  SseDecoder,
  type SseEvent,
  sseDataFrame,
  sseFrame,
  sseNamedFrame,
} from "./framing/sse.ts";

// Cards
export { buildCard } from "./card/build-card.ts";
export {
  type CardAlgorithm,
  type CardKey,
  type CardPublicKey,
  type GeneratedCardKey,
  generateCardKey,
  publicKeySet,
} from "./card/card-key.ts";
export type { CardSignatureHeader } from "./card/protected-header.ts";
export { type AgentCardSignature, signCard } from "./card/signature.ts";
export { type SignedFormName, signedForm } from "./card/signed-form.ts";
export { type CardVerdict, type VerifyCardOptions, verifyCard } from "./card/signature.ts";
