// Everything exported here is public API.
export { type ServeOptions, type Server, serve } from "./serve.ts";
export { type MountOptions, type Mounted, mount } from "./serve.ts";
export type { AgentOptions, AgentStorage, CloseOptions } from "./agent-options.ts";
export type { AuthOptions, AuthRequest, Authenticate } from "./guard/authenticate.ts";
export {
  DEFAULT_RATE_LIMITS,
  LOCAL_RATE_LIMITS,
  MemoryRateLimits,
  type RateClass,
  type RateLimit,
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
export { DEFAULT_LIMITS, type Limits } from "@convoke/engine";
export type { CardForm, CardOptions } from "./cards/card-binding.ts";
export type { PushOptions } from "@convoke/engine";
export type { RetentionOptions } from "@convoke/engine";
export type { Backend } from "@convoke/engine";
export type { Interceptor, OperationContext, Operations } from "./bindings/interceptors.ts";
