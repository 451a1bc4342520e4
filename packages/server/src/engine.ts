// The task engine without a transport: for siblings that run agents in process.
export { Engine, type EngineOptions } from "./tasks/engine.ts";
export { acceptMessage } from "./tasks/accept-message.ts";
export { isSettled } from "./tasks/live-task.ts";
export { createJsonLogger } from "./logger.ts";
