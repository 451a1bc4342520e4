// Agents that misbehave on purpose, on real sockets, to test how a client reacts.

export { type FaultyAgent, startFaultyAgent } from "./faulty-agent.ts";
export type {
  ExpectedAnswer,
  FaultCall,
  FaultScenario,
  FaultSpeaking,
  Right,
} from "./fault-scenario.ts";
export { FAULT_GROUPS, FAULT_SCENARIOS, type FaultGroup } from "./scenarios/all.ts";
export { REPEATED } from "./scenarios/behind.ts";
