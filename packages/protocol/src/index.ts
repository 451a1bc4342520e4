// Everything below is a promise to the other packages and to users; keep it short.

// The model
export {
  type A2APart,
  type DataPart,
  type FileContent,
  type FilePart,
  type Metadata,
  type TextPart,
  textPart,
} from "./part.ts";
export { type Message, type Role, agentMessage, userMessage } from "./message.ts";
export type { A2AArtifact } from "./artifact.ts";
export {
  TASK_STATES,
  type Task,
  type TaskState,
  type TaskStatus,
  isInterrupted,
  isTerminal,
  mayFollow,
  withHistoryLength,
} from "./task.ts";
export {
  type AgentEvent,
  type ArtifactUpdateEvent,
  type InternalEvent,
  type MessageReceivedEvent,
  type PublicEvent,
  type StatusUpdateEvent,
  type TaskEvent,
  isFinal,
  isMessageReceived,
  isPublic,
} from "./events.ts";
export type { PushAuthentication, PushConfig, PushTarget } from "./push-config.ts";
export { NOTES, type SleepEvent, isSleep } from "./journal.ts";
export { applyEvent } from "./apply-event.ts";
export { isPlainText, joinAll, joinParts } from "./join-parts.ts";
export { partsBeyond } from "./parts-beyond.ts";
export { textOf, textOfParts } from "./text-of.ts";

// The operations and their errors
export { OPERATIONS, type Operation, type OperationName } from "./operations.ts";
export { REST_ROUTES, type RestRoute } from "./rest-routes.ts";
export type {
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
} from "./requests.ts";
export {
  A2AError,
  type A2AErrorOptions,
  ERRORS,
  type ErrorReason,
  type SpecPatch,
  invalidParams,
} from "./errors.ts";
export { GRPC_STATUS } from "./grpc-status.ts";
export { type Method, type ProtocolVersion, findMethod, parseVersion } from "./version.ts";

// The seam between servers and whatever thinks
export type {
  Agent,
  AgentInfo,
  AgentBeside,
  AgentPlace,
  AgentSkill,
  Caller,
  InputTimeout,
  TraceContext,
  Turn,
} from "./agent.ts";

// Extensions
export { EXTENSIONS, type ExtensionName } from "./extensions/extensions.ts";
export { type AgentExtension, checkAgentExtensions } from "./extensions/agent-extension.ts";
export { formatExtensionList, parseExtensionList } from "./extensions/extension-list.ts";
export { checkExtensionData, dataOfType } from "./extensions/check-message.ts";
export { type ResumptionCursor, resumptionCursor } from "./extensions/resumption.ts";
export { type SkillChoice, chosenSkill, unknownSkill } from "./extensions/skill.ts";
export {
  type ClientTool,
  type ClientTools,
  type ToolPartType,
  type ToolResult,
  type ToolUse,
  declaredTools,
  toolResult,
} from "./extensions/client-tools.ts";
export { argumentSchema, boundedSchema } from "./extensions/argument-schema.ts";
export { toolUsesIn } from "./extensions/tool-uses.ts";
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
  checkApproval,
  checkApprovalAnswer,
  approvalPath,
  digestArguments,
} from "./extensions/approvals.ts";
export { answerApproval } from "./extensions/answer-approval.ts";
export { type ApprovalRequests, approvalsIn, openApprovals } from "./extensions/open-approvals.ts";
export {
  BUDGET_BOUNDS,
  type Budget,
  type BudgetLimit,
  type BudgetReport,
  budgetOf,
  budgetReportOf,
} from "./extensions/budget.ts";

export { ServerStopping } from "./server-stopping.ts";

// The wire
export type { Codec, JsonRpcError, WireDialect } from "./wire/codec.ts";
export { CODECS, LENIENT_CODECS, PROTO_CODECS } from "./wire/codecs.ts";
export { type JsonRpcId, type JsonRpcRequest, idOf, openRequest } from "./jsonrpc/request.ts";
export { errorText, resultPrefix, resultText } from "./jsonrpc/response.ts";
export { SSE_KEEP_ALIVE, SSE_RECONNECT, sseFrame, sseNamedFrame } from "./sse/encode.ts";
export { SseDecoder, type SseEvent } from "./sse/decode.ts";
export { buildCard } from "./card/build-card.ts";
export type { AgentCapabilities, AgentCardFacts, AgentInterface } from "./card/facts.ts";
export {
  type CardKey,
  type GeneratedCardKey,
  generateCardKey,
  publicKeySet,
} from "./card/card-key.ts";
export type { CardPublicKey } from "./card/json-web-key.ts";
export type { CardSignatureHeader } from "./card/protected-header.ts";
export type { CardAlgorithm } from "./card/signature-algorithms.ts";
export { type AgentCardSignature, signCard } from "./card/sign-card.ts";
export { type SignedFormName, signedForm } from "./card/signed-form.ts";
export { type CardVerdict, type VerifyCardOptions, verifyCard } from "./card/verify-card.ts";

// How a client speaks to an agent, and what goes wrong
export type {
  Binding,
  CallOptions,
  Calls,
  Connection,
  RawCard,
  RequestContext,
  Speaking,
  StreamItem,
  StreamOptions,
  Streams,
} from "./connection/connection.ts";
export {
  ClientError,
  type ClientErrorKind,
  type ClientErrorOptions,
  RemoteError,
  type RemoteErrorOptions,
} from "./connection/errors.ts";
