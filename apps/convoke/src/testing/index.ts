/**
 * Test agents without a port and without a model.
 *
 * @module convoke/testing
 */
export { type Answer, type SayOptions, say } from "./say.ts";
export { ReplayError } from "./player.ts";

// Scripted models, instead of providers that cost money.
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
