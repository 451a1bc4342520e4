// Primitives that several packages need. Internal: not covered by semantic versioning.
export { orAborted, sleep } from "./abort.ts";
export { agentIdFrom, checkAgentId } from "./agent-id.ts";
export { type BackoffOptions, backoffMs } from "./abort.ts";
export { canonicalJson } from "./json.ts";
export { didYouMean } from "./did-you-mean.ts";
export { type GrpcFrameProblem, GrpcFrameReader, frameGrpcMessage } from "./grpc-frame.ts";
export { type JsonObject, fieldIn, isObject, jsonOrText, snakeCase } from "./json.ts";
export { isLoopbackHost } from "./loopback.ts";
export { type PageRequest, readPages } from "./pages.ts";
export { oneLine, printable, printableJson, splitHidden } from "./printable.ts";
export { parseRetryAfter } from "./abort.ts";
export { type Member, ShortLivedMap, ShortLivedSet } from "./short-lived.ts";
export { MAX_TIMER_MS, type TimerOptions, startTimer, timeoutSignal } from "./timer.ts";
