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

// Have it think with a model
export {
  AgentLoop,
  type AgentLoopDefinition,
  type ApprovalSettings,
  type Budget,
  type ConfirmRule,
  type Grant,
  type GrantStore,
  type Interrupt,
  type LoopHooks,
  type McpServerConfig,
  McpServers,
  type Model,
  type ModelAgentDefinition,
  ModelError,
  type ModelEvent,
  type ModelOptions,
  type ModelRequest,
  type ModelSpec,
  type SubAgentDefinition,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolEvent,
  type Usage,
  authRequired,
  inputRequired,
  tool,
} from "@convoke/runtime";

// Serve it
export { type ServeAgentOptions, serve } from "./host/serve-agent.ts";
export { type MountAgentOptions, mount } from "./host/serve-agent.ts";
export type { Mounted, Server } from "@convoke/server";

// Call one
export {
  type ClientTool,
  type ClientToolContext,
  type RemoteAgent,
  connect,
} from "@convoke/client";

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
