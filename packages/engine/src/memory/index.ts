// A name added here is a promise; keep it short.

export { createMemoryBackend } from "./memory-backend.ts";
export { MemoryValues } from "./memory-values.ts";
