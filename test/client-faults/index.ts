// Agents that go wrong on purpose, behind real sockets, so that a client can be seen to do right.

// Whoever imports this is on Node, and its types are needed below.
/// <reference types="node" />

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
