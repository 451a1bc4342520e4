// A name added here is a promise; keep it short.

// The wire: the events of the agent, and the dialects in which callers see them
export { CoderAgentEvent } from "./dialects/coder-agent-event.ts";
export type {
  Citation,
  CoderAgentMessage,
  StateChange,
  TaskMetadata,
  TextContent,
  Thought,
  ToolCallConfirmation,
  ToolCallConfirmationReply,
  ToolCallUpdate,
  ToolSummary,
} from "./dialects/event-messages.ts";
export { CODE_GENERATION, type DialectOptions, withDialects } from "./dialects/with-dialects.ts";
export {
  type CallDetails,
  type CommandDetails,
  DETAILS_NOTE,
  type EditDetails,
  type InfoDetails,
  type McpDetails,
  commandPreview,
  editPreview,
  mcpPreview,
} from "./events/call-details.ts";
export {
  type CallConfirmation,
  type CoderToolCall,
  type CoderUsage,
  PLAN_NOTE,
  type PlanEntry,
  type ToolCallStatus,
} from "./events/coder-event.ts";
export { type AgentSettings, requestedSettings } from "./events/settings.ts";
