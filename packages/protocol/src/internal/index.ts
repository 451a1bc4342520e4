// Primitives that several packages need, each in one place. Internal code, does not follow semantic versioning.
export { orAborted, sleep } from "./abort.ts";
export { type BackoffOptions, backoffMs } from "./backoff.ts";
export { canonicalJson } from "./canonical-json.ts";
export { GrpcFrameReader, type GrpcFrameProblem, frameGrpcMessage } from "./grpc-frame.ts";
export { type JsonObject, isObject } from "./is-object.ts";
export { oneLine, printable } from "./printable.ts";
export { parseRetryAfter } from "./retry-after.ts";
export { MAX_TIMER_MS, type TimerOptions, startTimer, timeoutSignal } from "./timer.ts";
