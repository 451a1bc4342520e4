// What a task is and what happens to it, without a transport. A name added here is a promise; keep it short.

// An engine and its parts
export {
  type RunningEngine,
  type StartEngineOptions,
  closeBoth,
  createEngine,
  startBeside,
  startEngine,
} from "./start-engine.ts";
export { createInProcessConnection } from "./in-process.ts";
export type { Engine, EngineOptions } from "./run/engine.ts";
export { isSettled } from "./run/live-task.ts";
export { type Accepted, type Incoming, acceptMessage } from "./messages/accept-message.ts";
export { cancelTask } from "./lifecycle/cancel-task.ts";
export { pauseTask, resumePausedTask } from "./lifecycle/pause-task.ts";
export { type Recovered, recover } from "./lifecycle/recover.ts";
export { Retention, type RetentionOptions } from "./lifecycle/retention.ts";
export { type PushOptions, PushService } from "./push/push-service.ts";
export { readTarget } from "./push/stored-target.ts";
export { DEFAULT_LIMITS, type Limits, limitsOf } from "./task/limits.ts";
export { type LogFields, type LogLevel, type Logger, createJsonLogger } from "./logging/logger.ts";
export { newErrorId } from "./logging/error-id.ts";

// Its operations, and how their events are read
export type { Call } from "./operations/call.ts";
export type { View } from "./operations/accepted-output.ts";
export { type EventSource, closesAtFinal } from "./operations/event-source.ts";
export { cancelTask as cancelTaskOperation } from "./operations/cancel-task.ts";
export { type ApprovalDecided, decideApproval } from "./operations/decide-approval.ts";
export { getExtendedCard } from "./operations/get-extended-card.ts";
export { getTask } from "./operations/get-task.ts";
export { type WaitingApproval, listApprovals } from "./operations/list-approvals.ts";
export { listTasks } from "./operations/list-tasks.ts";
export {
  createPushConfig,
  deletePushConfig,
  getPushConfig,
  listPushConfigs,
  rulesOf,
} from "./operations/push-configs.ts";
export { sendMessage } from "./operations/send-message.ts";
export { sendStreamingMessage } from "./operations/send-streaming-message.ts";
export { subscribeToTask } from "./operations/subscribe-to-task.ts";
export { LogReader, followLog } from "./operations/log-reader.ts";
export { type LogEntry, placed } from "./log/log-entry.ts";
export { declaredExtensions } from "./operations/declared-extensions.ts";

// Where tasks live: for everyone who implements a backend
export type * from "./log/backend.ts";
export {
  Misuse,
  type Refusal,
  type StateRules,
  type TakenMessage,
  judge,
  notOneLine,
} from "./log/judge.ts";
export { wakeAfter } from "./log/wake-after.ts";
export { Watchers } from "./log/watchers.ts";
