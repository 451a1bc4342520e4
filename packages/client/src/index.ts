// Everything below is a promise to users; keep it short.

// Speak to an agent
export { connect } from "./connect.ts";
export type { ConnectOptions } from "./connect-options.ts";
export type { AgentNotice, LegacyForm } from "./agent-notice.ts";
export type {
  GetOptions,
  ListOptions,
  RemoteAgent,
  SendOptions,
  StreamOptions,
  SubscribeOptions,
} from "./remote-agent.ts";
export type { RemotePush } from "./remote-push.ts";
export type { Binding } from "@convoke/protocol";
export type { BindingName } from "./choose-interface.ts";
export type { RetryOptions } from "./connection/retry-options.ts";
export type { Answer } from "./run/answer.ts";
export type { FollowOptions, ReconnectOptions } from "./run/follow-options.ts";
export type { RunNotice } from "./run/notice.ts";
export type { Question } from "./run/question.ts";
export type { Run } from "./run/run.ts";
export type { Answering, Conversation, ConversationOptions } from "./conversation/conversation.ts";
export type { ClientTool, ClientToolContext } from "./client-tools/client-tool.ts";
export type { ConversationState } from "./conversation/conversation-state.ts";
export type { ExchangeStep, OpenQuestion } from "./conversation/exchange.ts";
export type { Input } from "./message-of.ts";

// Say who is calling
export type { ApiKey, Auth } from "./auth/auth.ts";
export { isToken } from "./auth/header-text.ts";

// Look at its card without speaking to it
export type { RawCard } from "@convoke/protocol";
export { type DiscoverOptions, type DiscoveredCard, discover } from "./discover.ts";
export { type CardInterface, interfacesOf } from "./cards/card-interfaces.ts";
export type { CardSignature } from "./cards/check-card.ts";
export type { SignatureOptions } from "./cards/signature-options.ts";

// Call an agent by one function, in A2A or in the polling protocol before it
export { clearAgentCardCache } from "./remote-invocation/agent-cards.ts";
export {
  type AgentCardOptions,
  discoverAgent,
  fetchAgentCard,
} from "./remote-invocation/fetch-agent-card.ts";
export { invokeRemoteAgent } from "./remote-invocation/invoke-remote-agent.ts";
export type { InvokeOptions, StepLimits } from "./remote-invocation/invoke-options.ts";
export type { RemoteInvocationResult } from "./remote-invocation/invocation-result.ts";
export {
  type InvocationBudget,
  type InvocationBudgetOptions,
  createInvocationBudget,
} from "./remote-invocation/invocation-budget.ts";
export type { InvocationRefusal } from "./remote-invocation/invocation-guard.ts";
export type { AgentTrust, TrustLevel } from "./remote-invocation/agent-trust.ts";
export type { Clock } from "./remote-invocation/clock.ts";
export type { A2AAgentCard } from "./remote-invocation/agent-card.ts";
export type {
  A2AMessage,
  A2ATask,
  A2ATaskSendRequest,
  A2ATaskState,
} from "./remote-invocation/a2a-task.ts";
export type { A2ATaskDeps } from "./remote-invocation/a2a-task-deps.ts";
export {
  ExternalServiceError,
  NotFoundError,
  ValidationError,
} from "./remote-invocation/errors.ts";

// What can go wrong
export { ClientError, type ClientErrorKind, RemoteError } from "@convoke/protocol";
