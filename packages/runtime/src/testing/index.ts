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
