// What people test their agents with.
export { type Answer, type SayOptions, say } from "./say.ts";

// Models by a script, instead of ones that cost money.
export {
  type ScriptError,
  type ScriptStep,
  type ScriptTurn,
  type ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedModelServer,
  type ScriptedTurn,
  type ServedProvider,
  type ServedRequest,
  type ServedScript,
  type ServedTurn,
  scriptedModel,
  startScriptedModelServer,
} from "@convoke/runtime/testing";
