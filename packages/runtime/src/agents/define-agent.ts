import type { Agent } from "@convoke/protocol";
import { type AgentFacts, agentIdField, agentInfo, missing } from "./agent-info.ts";
import { FunctionRun, type RunResult } from "../functions/function-run.ts";
import type { FunctionTurn } from "../functions/function-turn.ts";
import type { LoopDefinition } from "../run/loop-settings.ts";
import { modelAgent } from "../loop/model-agent.ts";

/** An agent that is a function, as its author writes it. */
export interface AgentDefinition extends AgentFacts {
  /** Works on a message: yields chunks of the answer, or returns it whole. */
  run(turn: FunctionTurn): RunResult;
  readonly model?: undefined;
}

/** An agent that thinks with a model, as its author writes it. */
export interface ModelAgentDefinition extends AgentFacts, LoopDefinition {
  readonly run?: undefined;
}

/** Makes an agent of a function, or of a model and tools. */
export function defineAgent(definition: AgentDefinition | ModelAgentDefinition): Agent {
  const info = agentInfo(definition);
  const id = agentIdField(definition);
  if (definition.model !== undefined && definition.run !== undefined) {
    throw new TypeError("defineAgent takes either a run function or a model, not both");
  }
  if (definition.model !== undefined) return modelAgent(info, definition, id);
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
  return {
    ...id,
    info,
    run: (turn) => new FunctionRun(turn, (functionTurn) => definition.run(functionTurn)),
  };
}
