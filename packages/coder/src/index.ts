// A name added here is a promise; keep it short.

// The agent
export { type CodingAgent, coder } from "./agent/coder.ts";
export type { CoderOptions } from "./agent/coder-options.ts";

// The workspace
export { type Place, Workspace, type WorkspaceOptions } from "./workspace/workspace.ts";
export { WorkspaceError } from "./workspace/workspace-error.ts";

// Its file tools
export { type FileToolsOptions, createFileTools } from "./tools/file-tools.ts";
export type { FileAction, FilePolicy } from "./tools/file-action.ts";
export { withEditedContent } from "./tools/edited-content.ts";

// The conversation of a call
export type { SessionKey } from "./storage/session-key.ts";

// Undo
export { Checkpoints, type CheckpointsOptions } from "./checkpoints/checkpoints.ts";
export type { ChangeFacts, Checkpoint, CheckpointLimits } from "./checkpoints/checkpoint.ts";
export type { RestoreReport } from "./checkpoints/restorer.ts";

// What a shell line runs
export { type ParsedCommand, parseArgv, parseCommand } from "./command-line/parse-command.ts";

// What the agent may do
export { type Action, type CommandAction, type Decision, Policy } from "./policy/policy.ts";
export {
  type CompletePolicy,
  type PolicyDefinition,
  type PolicyRule,
  parsePolicy,
} from "./policy/policy-definition.ts";
export { policyFor } from "./policy/workspace-policy.ts";
export {
  type GrantedRights,
  type RightsLimits,
  type RightsRequest,
  requestRights,
} from "./policy/request-rights.ts";
export type { Mode, Verdict } from "./policy/verdict.ts";

// Its shell
export { type ShellTools, type ShellToolsOptions, createShellTools } from "./shell/shell-tools.ts";
export { type Sandbox, type SandboxOptions, openSandbox } from "./shell/sandbox.ts";

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
  isDetails,
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
