// Utilities for testing agents without a paid model. Nothing here needs a test runner.

// A scripted model that runs in process.
export {
  type ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedTurn,
  scriptedModel,
} from "./scripted-model.ts";
export type { ScriptError, ScriptStep, ScriptTurn } from "../models/script/script-step.ts";

// A scripted model server over HTTP, for tests with the real provider packages.
export {
  type ScriptedModelServer,
  type ServedProvider,
  type ServedScript,
  type ServedTurn,
  startScriptedModelServer,
} from "./model-server/scripted-model-server.ts";
export type { ServedRequest } from "./model-server/served-request.ts";

// What a program needs that records the models and tools of an agent and replays them. Agents are
// tested with `say` of `convoke/testing`.
export { type Tape, type TapedCall, type ToolOutcome, withTape, withoutTape } from "../run/tape.ts";
export { LoopEndError } from "../run/loop-failure.ts";
export { Secrets } from "../approvals/secrets.ts";
export { jsonSchemaCheck } from "../tools/tool-input.ts";
export type {
  AssistantContent,
  FinishReason,
  ModelUsage,
  ToolDescription,
} from "../model/model.ts";
