/**
 * Calls between agents with single functions. Kept for programs that use these names; new programs use
 * `serve` and `connect`.
 *
 * @module convoke/compat
 */

// Call an agent
export {
  type A2AAgentCard,
  type A2AAgentSkill,
  type A2AMessage,
  type A2AProtocolExtension,
  type A2ATask,
  type A2ATaskParams,
  type A2ATaskSendRequest,
  type A2ATaskState,
  type AgentCardOptions,
  type AgentTrust,
  type Clock,
  ExternalServiceError,
  type InvocationBudget,
  type InvocationBudgetOptions,
  type InvocationRefusal,
  type InvokeOptions,
  NotFoundError,
  type RemoteInvocationResult,
  type StepLimits,
  TooManyTasksError,
  type TrustLevel,
  ValidationError,
  clearAgentCardCache,
  createInvocationBudget,
  discoverAgent,
  fetchAgentCard,
  invokeRemoteAgent,
} from "@convoke/client/compat";

// Describe the agents of this process
export {
  type A2AAgentRecord,
  type A2ACardDatabase,
  type RegisteredAgent,
  buildAgentCard,
  buildAgentCardForAgent,
  registerAgent,
} from "@convoke/runtime/compat";

// Accept tasks of other agents in a program of your own
export {
  type A2AHostedAgent,
  type A2AHostedSession,
  type A2AProcessManager,
  type A2ASessionInput,
  type A2ASessionListener,
  type A2ATaskDeps,
  clearTaskStore,
  handleTaskCancel,
  handleTaskGet,
  handleTaskSend,
} from "@convoke/runtime/compat";

// Let a model call agents
export {
  type A2AToolContext,
  type A2AToolResult,
  type AgentToolOptions,
  agentTools,
  handleDiscoverAgent,
  handleInvokeRemoteAgent,
} from "@convoke/runtime/compat";
