// A name added here is a promise; keep it short.

// Any program as an agent
export { processAgent } from "./processes/agent/process-agent.ts";
export type { ProcessAgentOptions, ProcessLimits } from "./processes/program/process-options.ts";

// The agents of a configuration
export {
  type AgentEntry,
  type CoderEntry,
  type ModelEntry,
  type ModuleEntry,
  type ProcessEntry,
  buildAgent,
} from "./agent-entry.ts";

// The processes of a host that has tasks of its own
export {
  ProcessManager,
  type ProcessManagerOptions,
  type SessionEvent,
  type SessionListener,
} from "./processes/sessions/process-manager.ts";
