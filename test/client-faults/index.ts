// Agents that misbehave on purpose, behind real sockets, to see how a client reacts.

export { type FaultyAgent, type FaultyAgentOptions, startFaultyAgent } from "./faulty-agent.ts";
export type {
  ExpectedAnswer,
  FaultAsk,
  FaultCall,
  FaultReplies,
  FaultReply,
  FaultScenario,
  FaultSettings,
  FaultSpeaking,
  FaultStep,
  GrpcReplies,
  GrpcReply,
  Right,
} from "./fault-scenario.ts";
export { FAULT_GROUPS, FAULT_SCENARIOS, type FaultGroup } from "./scenarios/all.ts";
export { REPEATED } from "./scenarios/behind.ts";
export type { GrpcMove } from "./wire/grpc-move.ts";
export type { Move } from "./wire/move.ts";
