// Cards, inbound tasks and tools for calling agents, under the names of the polling protocol.
export {
  type A2AAgentRecord,
  type A2ACardDatabase,
  buildAgentCard,
  buildAgentCardForAgent,
} from "./build-agent-card.ts";
export {
  type A2AHostedAgent,
  type A2AHostedSession,
  type A2AProcessManager,
  type A2ASessionInput,
  type A2ASessionListener,
  type A2ATaskDeps,
  clearTaskStore,
  handleTaskCancel,
  handleTaskGet,
  handleTaskSend,
} from "./task-handler.ts";
export {
  type A2AToolContext,
  type A2AToolResult,
  type AgentToolOptions,
  agentTools,
  handleDiscoverAgent,
  handleInvokeRemoteAgent,
} from "./agent-tools.ts";
export { type RegisteredAgent, registerAgent } from "../agents/registered-agents.ts";
