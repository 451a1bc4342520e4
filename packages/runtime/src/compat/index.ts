// Cards, inbound tasks and tools for calling agents, under the names of the polling protocol.
export {
  type A2AAgentRecord,
  type A2ACardDatabase,
  type RegisteredAgent,
  buildAgentCard,
  buildAgentCardForAgent,
  registerAgent,
} from "./build-agent-card.ts";
