// Tasks and what happens to them, without a transport. Everything exported here is public API.

// An engine and its parts
export {
  type RunningEngine,
  type StartEngineOptions,
  closeAgentsAndBackend,
  createEngine,
  startEngine,
  startLocalAgent,
} from "./start-engine.ts";
export { createInProcessConnection } from "./in-process.ts";
export type { Engine, EngineOptions } from "./run/engine.ts";
export { Agents, type ServedAgent } from "./run/agents.ts";
export type { TaskChange, TaskScope } from "./run/live-tasks.ts";
export { isSettled } from "./run/live-task.ts";
export { acceptMessage } from "./messages/accept-message.ts";
export type { AcceptedTask, Incoming, NewTaskOptions } from "./messages/incoming.ts";
export { cancelTask } from "./lifecycle/end-task.ts";
export { streamDisconnected } from "./lifecycle/disconnect.ts";
export { type EndedTasks, endStoredTasks } from "./lifecycle/end-stored-tasks.ts";
export { pauseTask, resumePausedTask } from "./lifecycle/recover.ts";
export { type OtherAgentTasks, type RecoveryReport, recover } from "./lifecycle/recover.ts";
export { MEMORY_RETENTION, Retention, type RetentionOptions } from "./lifecycle/retention.ts";
export { MetricsHistory, type MetricsSample } from "./metrics/metrics-history.ts";
export { MetricsRegistry } from "./metrics/metrics-registry.ts";
export { collectProcessMetrics } from "./metrics/process-metrics.ts";
export type { DeliveryAttempt } from "./push/delivery-attempts.ts";
export { type PushOptions, PushService } from "./push/push-service.ts";
export { readTarget } from "./push/notification.ts";
export { type AgentKey, agentKey } from "./task/agent-key.ts";
export { Counts, DEFAULT_LIMITS, type Limits, resolveLimits } from "./task/limits.ts";
export { Audit, type AuditEntry, type AuditEvent, type AuditStore } from "./logging/audit.ts";
export {
  type LogFields,
  type LogLevel,
  type Logger,
  createJsonLogger,
  createTextLogger,
  newErrorId,
} from "./logging/logger.ts";

// Large files
export type {
  NewBlob,
  BlobAddress,
  BlobContent,
  BlobStore,
  ByteRange,
  TaskBlobs,
} from "./log/blob-store.ts";
export { BlobStoreError, checkedContent } from "./log/blob-store.ts";
export { FILES_PATH, FileLinks, type LinkedFile } from "./files/file-links.ts";
export {
  DEFAULT_LINK_MS,
  type FileOptions,
  type FileView,
  type LinkOptions,
  TaskFiles,
} from "./files/task-files.ts";

// Operations, and how their events are read
export type { Call } from "./operations/call.ts";
export type { View } from "./operations/caller-view.ts";
export { type EventStreamSource, closesAtFinal } from "./operations/event-source.ts";
export { cancelTask as cancelTaskOperation } from "./operations/cancel-task.ts";
export { type ApprovalDecision, decideApproval } from "./operations/approvals.ts";
export { type CallTree, type CallTreeNode, readCallTree } from "./operations/call-tree.ts";
export { type CreateTaskRequest, createTask } from "./operations/create-task.ts";
export { getExtendedCard } from "./operations/get-extended-card.ts";
export { getTask } from "./operations/get-task.ts";
export { type PendingApproval, listApprovals } from "./operations/approvals.ts";
export { listTasks } from "./operations/list-tasks.ts";
export { type TaskSummary, listTaskSummaries, readTask } from "./operations/task-records.ts";
export {
  type LogPage,
  type LogPageRequest,
  type LogStorage,
  type LogView,
  type LoggedEvent,
  findTaskRecord,
  loggedEventText,
  readLogPage,
  readTaskAt,
} from "./operations/task-log.ts";
export {
  createPushConfig,
  deletePushConfig,
  getPushConfig,
  listPushConfigs,
  requirePush,
} from "./operations/push-configs.ts";
export {
  type DeleteTasksRequest,
  deleteStoredTasks,
  deleteTasks,
} from "./operations/delete-tasks.ts";
export {
  type ErasureSubject,
  type Erasures,
  requestErasure,
  subjectDigest,
} from "./operations/erasures.ts";
export { sendMessage } from "./operations/send-message.ts";
export { sendStreamingMessage } from "./operations/send-streaming-message.ts";
export { subscribeToTask } from "./operations/subscribe-to-task.ts";
export { LogReader, followLog } from "./operations/event-source.ts";
export { LogEntry } from "./log/log-entry.ts";
export { declaredExtensions } from "./operations/call.ts";

// For implementations of a backend
export type * from "./log/backend.ts";
export type * from "./log/sharing.ts";
export {
  InvalidStepError,
  type Refusal,
  type StateRules,
  type TakenMessage,
  checkCommit,
  notOneLine,
} from "./log/check-commit.ts";
export { wakeAtAfter } from "./log/check-commit.ts";
export { type StorageFailure, isStorageFailure, unavailable } from "./log/storage-failure.ts";
export { Watchers } from "./log/watchers.ts";
export type { DrawnTokens, RateLimit, RateStore } from "./rates/rate-store.ts";
