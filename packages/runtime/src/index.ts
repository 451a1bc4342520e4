// A name added here is a promise; keep it short.
export { type AgentDefinition, defineAgent } from "./define-agent.ts";
export type { FunctionTurn } from "./function-turn.ts";
export type { RunResult, Yielded } from "./function-run.ts";
export { type Said, artifact, fail, reject, reply, status } from "./said.ts";
export { type StepContext, StepError, type StepOptions, StepUnknownError } from "./steps.ts";
