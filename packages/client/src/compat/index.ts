// One-function calls in A2A, or in the polling protocol that came before it. The names are kept for programs
// that use them; new programs use `connect` of @convoke/client.

export {
  type A2AAgentCard,
  type A2AAgentSkill,
  type A2AProtocolExtension,
  type AgentCardOptions,
  clearAgentCardCache,
  discoverAgent,
  fetchAgentCard,
} from "./fetch-agent-card.ts";
export { invokeRemoteAgent } from "./invoke-remote-agent.ts";
export type { InvokeOptions, RemoteInvocationResult, StepLimits } from "./invocation.ts";
export {
  type AgentTrust,
  type InvocationBudget,
  type InvocationBudgetOptions,
  type InvocationRefusal,
  MAX_DEPTH,
  REFUSED,
  TRUST_LEVELS,
  type TrustLevel,
  createInvocationBudget,
} from "./invocation-guard.ts";
export type { Clock } from "./peer.ts";
export type {
  A2AMessage,
  A2ATask,
  A2ATaskParams,
  A2ATaskSendRequest,
  A2ATaskState,
} from "@convoke/protocol";
export {
  ExternalServiceError,
  NotFoundError,
  TooManyTasksError,
  ValidationError,
} from "./errors.ts";
