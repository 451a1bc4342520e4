// Everything exported here is public API.
export { type ServeOptions, type Server, serve } from "./serve.ts";
export { type MountOptions, type Mounted, mount } from "./serve.ts";
export type { AgentOptions, AgentStorage, CloseOptions } from "./agent-options.ts";
export type { ConsoleFile, ConsoleFiles } from "./bindings/console/handle.ts";
export type { ServerAgent } from "./hosted-agents.ts";
export {
  type AgentsPlace,
  type StoredAgent,
  type StoredAgents,
  StoredAgentsError,
  readStoredAgents,
} from "./bindings/agent-switches.ts";
export type { AuthOptions } from "./guard/authenticate.ts";
export {
  type AuthEnvironment,
  type AuthRequest,
  type Authenticate,
  type Authenticator,
  type CallerFacts,
  bearer,
} from "./auth/authenticator.ts";
export { type ApiKeysOptions, apiKeys } from "./auth/api-keys.ts";
export {
  type ApiKeyRecord,
  type CreatedApiKey,
  KEY_FILE,
  KeyFileError,
  type NewApiKey,
  createApiKey,
  keyState,
  readKeyFile,
  rotateApiKey,
  updateKeyFile,
} from "./auth/key-file.ts";
export { type ApiKeyStore, KeyFileStore, SharedKeyStore } from "./auth/key-store.ts";
export { type JwtOptions, jwt, oidc } from "./auth/jwt.ts";
export { type ClientCertificate, type MtlsOptions, mtls } from "./auth/mtls.ts";
export type {
  AdminOperation,
  AgentOperation,
  AuthorizationDecision,
  AuthorizationOptions,
  AuthorizationRequest,
  Authorize,
} from "./guard/authorize.ts";
export type { InboundOptions } from "./guard/inbound-rate.ts";
export { ROLE_SCOPES, type RoleOptions } from "./guard/roles.ts";
export type { TlsOptions } from "./node/port.ts";
export {
  DEFAULT_RATE_LIMITS,
  LOCAL_RATE_LIMITS,
  MemoryRateLimits,
  type RateClass,
  type RateLimitOptions,
  type RateLimitStore,
  type RateState,
  parseRateLimits,
} from "./guard/rate-limit.ts";
export type { Timeouts } from "./http/exchange.ts";
export type { CorsOptions } from "./http/cors.ts";
export { normalizeOrigins } from "./http/cors.ts";
export type { ServerAddress } from "./http/address.ts";
export { type LogFields, type LogLevel, type Logger, createJsonLogger } from "@convoke/engine";
export { DEFAULT_LIMITS, type Limits, type RateLimit } from "@convoke/engine";
export { type RemoteEntries, type RemoteEntry, resolveRemoteEntries } from "./cards/agent-list.ts";
export type { CardForm, CardOptions } from "./cards/card-binding.ts";
export type { PushOptions } from "@convoke/engine";
export type { RetentionOptions } from "@convoke/engine";
export type { Backend } from "@convoke/engine";
export type { Interceptor, OperationContext, Operations } from "./bindings/interceptors.ts";
