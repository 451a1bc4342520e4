// What agents are tested with instead of a model that costs money. Nothing here needs a test runner.

// A model by a script, in process.
export {
  type ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedTurn,
  scriptedModel,
} from "./scripted-model.ts";
export type { ScriptError, ScriptStep, ScriptTurn } from "../models/script/script-step.ts";

// The same by HTTP, for the real providers.
export {
  type ScriptedModelServer,
  type ServedProvider,
  type ServedScript,
  type ServedTurn,
  startScriptedModelServer,
} from "./model-server/scripted-model-server.ts";
export type { ServedRequest } from "./model-server/served-request.ts";
