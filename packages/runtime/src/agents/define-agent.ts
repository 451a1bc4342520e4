import type { Agent } from "@convoke/protocol";
import { type AgentFacts, agentIdField, agentInfo, missing } from "./agent-info.ts";
import { acceptFunctionAnswer, waitsForSchema } from "../approvals/accept-answer.ts";
import { FunctionRun, type RunResult } from "../functions/function-run.ts";
import type { FunctionTurn } from "../functions/function-turn.ts";
import type { LoopDefinition } from "../run/loop-settings.ts";
import { type Character, withCharacter } from "./persona.ts";
import { type OptionNames, checkOptions } from "../tools/check-options.ts";
import { loadValidator } from "../tools/tool-input.ts";
import { modelAgent } from "../loop/model-agent.ts";

/** An agent that is a function, as its author writes it. */
export interface AgentDefinition extends AgentFacts {
  /** Works on a message: yields chunks of the answer, or returns it whole. */
  run(turn: FunctionTurn): RunResult;
  /**
   * Whether the function has effects outside of its steps: it changes or sends something, or costs
   * money. Default true: it starts once its task is stored, so that no message starts it twice. With
   * `false` it starts at once, and if it then ends or asks without waiting for anything else, its task
   * is stored once instead of twice. A message that is sent again may start it again; all callers get
   * the answer that was stored first.
   */
  readonly sideEffects?: boolean;
  readonly model?: undefined;
}

/** An agent that thinks with a model, as its author writes it. */
export interface ModelAgentDefinition extends AgentFacts, LoopDefinition, Character {
  readonly run?: undefined;
}

const OPTIONS: OptionNames<AgentDefinition | ModelAgentDefinition> = {
  id: true,
  provider: true,
  documentationUrl: true,
  iconUrl: true,
  onDisconnect: true,
  finalMessage: true,
  scopes: true,
  toolActivity: true,
  output: true,
  name: true,
  description: true,
  version: true,
  skills: true,
  inputModes: true,
  outputModes: true,
  extensions: true,
  replies: true,
  keepStreamOnInterrupt: true,
  takesMessages: true,
  restart: true,
  sideEffects: true,
  local: true,
  timeoutMs: true,
  inputTimeout: true,
  run: true,
  model: true,
  modelOptions: true,
  instructions: true,
  persona: true,
  skillBundles: true,
  tools: true,
  budget: true,
  allowsCycles: true,
  hooks: true,
  maxParallelTools: true,
  toolOutputLimit: true,
  maxOutputTokens: true,
  temperature: true,
  retry: true,
  approvals: true,
  mcpServers: true,
  mcpSkills: true,
  mcpOptions: true,
  mcpToolPermissions: true,
  subAgents: true,
  clientTools: true,
};

/** Makes an agent of a function, or of a model and tools. */
export function defineAgent(given: AgentDefinition | ModelAgentDefinition): Agent {
  checkOptions(given, OPTIONS, "defineAgent");
  const definition = given.model === undefined ? given : withCharacter(given);
  const info = agentInfo(definition);
  const id = agentIdField(definition);
  if (definition.model !== undefined && definition.run !== undefined) {
    throw new TypeError("defineAgent takes either a run function or a model, not both");
  }
  if (definition.model !== undefined) {
    if ("sideEffects" in definition) {
      throw new TypeError("sideEffects is for agents with a run function: leave it out");
    }
    return modelAgent(info, definition, id);
  }
  if (typeof definition.run !== "function") throw missing("a run function or a model");
  const { mcpServers, subAgents } = definition as Pick<
    Partial<ModelAgentDefinition>,
    "mcpServers" | "subAgents"
  >;
  if (mcpServers !== undefined) {
    throw new TypeError(
      "mcpServers is for agents with a model: in run, use new McpServers yourself",
    );
  }
  if (subAgents !== undefined) {
    throw new TypeError("subAgents is for agents with a model: in run, use connect yourself");
  }
  const options = { inputTimeoutMs: info.inputTimeout?.ms, warned: new Set<string>() };
  const run = (turn: FunctionTurn): RunResult => definition.run(turn);
  return {
    ...id,
    info: definition.sideEffects === false ? { ...info, sideEffects: false } : info,
    run: (turn) => new FunctionRun(turn, run, options),
    beforeAccept: (task) => (waitsForSchema(task) ? loadValidator() : undefined),
    accept: (task, message, at) => acceptFunctionAnswer(task, message, { now: at }),
  };
}
