// A name added here is a promise; keep it short.
export { type ServeOptions, type Server, serve } from "./serve.ts";
export { type MountOptions, type Mounted, mount } from "./mount.ts";
export type { AgentOptions, CloseOptions } from "./agent-options.ts";
export type { CorsOptions } from "./http/cors.ts";
export { checkedOrigins } from "./http/origins.ts";
export type { ServerAddress } from "./node/address.ts";
export { type LogFields, type LogLevel, type Logger, createJsonLogger } from "./logger.ts";
export { DEFAULT_LIMITS, type Limits } from "./tasks/limits.ts";
export type { CardForm, CardOptions } from "./bindings/card.ts";
export type { PushOptions } from "./push/push-service.ts";
export type { RetentionOptions } from "./tasks/retention.ts";
export type { Backend } from "./tasks/backend.ts";
