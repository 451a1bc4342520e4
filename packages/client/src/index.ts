// Every name exported here is a public promise; keep the list short.

// Call an agent
export { type ConnectOptions, connect } from "./agent/connect.ts";
export type {
  CancelOptions,
  GetOptions,
  ListOptions,
  RemoteAgent,
  RemotePush,
  SendOptions,
  StreamOptions,
  SubscribeOptions,
} from "./agent/remote-agent.ts";
export type { ReadFileOptions } from "./agent/read-file.ts";
export type { Binding } from "@convoke/protocol";
export type { BindingName } from "./cards/choose-interface.ts";
export type { AgentNotice, LegacyForm } from "./connection/interface-calls.ts";
export type { Answer, Question } from "./run/answer.ts";
export type { FollowOptions, ReconnectOptions, RunNotice } from "./run/follow-options.ts";
export { BEGINS_AGAIN, type Run, type TextPiece } from "./run/run.ts";
export type {
  AnswerQuestion,
  Conversation,
  ConversationOptions,
  ExchangeCallOptions,
} from "./conversation/conversation.ts";
export type { ClientTool, ClientToolContext } from "./conversation/client-tools.ts";
export type { ConversationState, ExchangeStep, OpenQuestion } from "./conversation/exchange.ts";
export type { Input, RequestOptions } from "./conversation/message.ts";

// See and change every call
export type { Interceptor } from "./connection/interceptor.ts";
export type { RetryOptions } from "./connection/retry.ts";

// Authenticate
export type { ApiKey, Auth } from "./auth/credentials.ts";
export type { OAuthOptions, Redirect, SignIn, SignInPrompt } from "./oauth/oauth-options.ts";
export { MemoryTokenStore, type StoredToken, type TokenStore } from "./oauth/token-store.ts";
export type { ClientCertificate } from "./outbound/fetch-outbound.ts";
export { isToken } from "./auth/headers.ts";

// Read an agent's card without calling the agent
export type { RawCard } from "@convoke/protocol";
export type { DiscoveredCard } from "./cards/card.ts";
export { type DiscoverOptions, discover } from "./cards/discovery.ts";
export { type CardInterface, listInterfaces } from "./cards/card-interfaces.ts";
export type { CardSignature, SignatureOptions } from "./cards/check-card.ts";

// Find the agents of a host
export {
  type AgentQuery,
  type FindAgentsOptions,
  type FoundAgents,
  type ListedAgent,
  findAgents,
} from "./cards/find-agents.ts";

// What can go wrong
export { ClientError, type ClientErrorKind, RemoteError } from "@convoke/protocol";
