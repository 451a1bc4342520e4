// The task engine without a transport: for siblings that run agents in process.
export { Engine, type EngineOptions } from "./tasks/engine.ts";
export { type Accepted, acceptMessage } from "./tasks/accept-message.ts";
export { cancelTask } from "./tasks/cancel-task.ts";
export { type Recovered, recover } from "./tasks/recover.ts";
export { isSettled } from "./tasks/live-task.ts";
export { Retention, type RetentionOptions } from "./tasks/retention.ts";
export { createJsonLogger } from "./logger.ts";

// Its operations and readers
export { EventStream } from "./bindings/event-stream.ts";
export { KeepAlive } from "./bindings/keep-alive.ts";
export { SseFraming } from "./bindings/sse-framing.ts";
export type { EventSource } from "./operations/event-source.ts";
export { getTask } from "./operations/get-task.ts";
export { listTasks } from "./operations/list-tasks.ts";
export { sendMessage } from "./operations/send-message.ts";
export { sendStreamingMessage } from "./operations/send-streaming-message.ts";
export { subscribeToTask } from "./operations/subscribe-to-task.ts";
