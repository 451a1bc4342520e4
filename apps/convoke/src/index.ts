// The package that users install. A name added here is a promise; keep it short.

// Write an agent
export {
  type AgentDefinition,
  type FunctionTurn,
  StepError,
  type StepOptions,
  StepUnknownError,
  artifact,
  defineAgent,
  fail,
  reject,
  reply,
  status,
} from "@convoke/runtime";
export type { Agent, AgentEvent, Message, Task, TaskState } from "@convoke/protocol";

// Serve it
export { type ServeAgentOptions, serve } from "./serve-agent.ts";
export { type MountAgentOptions, mount } from "./mount-agent.ts";
export type { Mounted, Server } from "@convoke/server";

// Call one
export { type RemoteAgent, connect } from "@convoke/client";

// Call one by a single function
export {
  type A2AAgentCard,
  type A2AMessage,
  type A2ATask,
  type A2ATaskDeps,
  type A2ATaskSendRequest,
  type A2ATaskState,
  ExternalServiceError,
  type InvocationBudget,
  type InvokeOptions,
  NotFoundError,
  type RemoteInvocationResult,
  ValidationError,
  clearAgentCardCache,
  createInvocationBudget,
  discoverAgent,
  fetchAgentCard,
  invokeRemoteAgent,
} from "@convoke/client";

// Hear from one by push notifications
export {
  type PushReceiver,
  type PushReceiverOptions,
  type PushRequest,
  type Received,
  createPushReceiver,
} from "@convoke/client/push-receiver";
