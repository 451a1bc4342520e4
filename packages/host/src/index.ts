// A name added here is a promise; keep it short.

// Any program as an agent
export { processAgent } from "./processes/agent/process-agent.ts";
export type { ProcessAgentOptions, ProcessLimits } from "./processes/program/process-options.ts";

// The agents of a server, which operators can change while it runs
export {
  type AgentEntry,
  type CoderEntry,
  type ModelEntry,
  type ModuleEntry,
  type ProcessEntry,
  buildAgent,
} from "./catalog/agent-entry.ts";
export { AgentCatalog, type AgentCatalogOptions } from "./catalog/agent-catalog.ts";
export {
  type CatalogStore,
  FileCatalogStore,
  MemoryCatalogStore,
  SharedCatalogStore,
  type StoredAgent,
  type StoredAgents,
} from "./catalog/catalog-store.ts";
export type { CatalogRights } from "./catalog/json-definition.ts";

// The processes of a host that has tasks of its own
export {
  ProcessManager,
  type ProcessManagerOptions,
  type SessionEvent,
  type SessionListener,
} from "./processes/sessions/process-manager.ts";
