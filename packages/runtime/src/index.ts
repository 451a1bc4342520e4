// A name added here is a promise; keep it short.

// An agent that is a function
export {
  type AgentDefinition,
  type ModelAgentDefinition,
  defineAgent,
} from "./agents/define-agent.ts";
export type { AuthRequiredOptions, FunctionTurn } from "./functions/function-turn.ts";
export type { Ask, AskOptions } from "./functions/ask.ts";
export type { Approve, CallDecision, CallToApprove } from "./functions/approve.ts";
export { NoAnswerError } from "./functions/waits.ts";
export type { RunResult, Yielded } from "./functions/function-run.ts";
export {
  type ArtifactOptions,
  type FunctionOutput,
  artifact,
  complete,
  fail,
  reject,
  reply,
  status,
} from "./functions/function-output.ts";
export {
  type Step,
  type StepContext,
  StepError,
  type StepOptions,
  StepUnknownError,
} from "./functions/steps.ts";
export type { StepResult } from "./functions/json-value.ts";

// An agent that thinks with a model
export { AgentLoop, type AgentLoopDefinition, type ExecuteOptions } from "./agents/agent-loop.ts";
export type { Persona, SkillBundle } from "./agents/persona.ts";
export type { Budget } from "./run/budget.ts";
export type { HookedCall, HookedResult, LoopHooks, Veto } from "./run/hooks.ts";
export type {
  AskEvent,
  CheckpointEvent,
  LlmCallEvent,
  LlmResultEvent,
  LlmRetryEvent,
  Source,
  ThoughtEvent,
  ToolCompleteEvent,
  ToolInterruptEvent,
  ToolNoteEvent,
  ToolOutputEvent,
  ToolProgressEvent,
  ToolStartEvent,
  TrimmedEvent,
} from "./run/loop-events.ts";
export type { ApprovalSettings, LoopDefinition } from "./run/loop-settings.ts";
export type { Usage } from "./run/usage.ts";

// Its tools
export { type ToolDefinition, fileArtifactId, tool } from "./tools/tool.ts";
export { type AgentHost, type FindAgentOptions, findAgentTool } from "./tools/find-agent.ts";
export { ToolOutput } from "./tools/tool-output.ts";
export { authRequired, inputRequired } from "./tools/interrupts.ts";
export type {
  ApprovalWords,
  ConfirmRule,
  Confirmation,
  Interrupt,
  InterruptAnswer,
  Tool,
  ToolContext,
  ToolTrace,
  ToolEvent,
  ToolYield,
} from "./tools/tool.ts";

// Tools of its callers
export type { ClientToolOptions } from "./run/client-tools.ts";

// Its MCP servers
export type { McpFetch, McpLogger, McpOptions, McpServerConfig } from "./mcp/mcp-settings.ts";
export type { McpServerReport } from "./mcp/mcp-server.ts";
export {
  type McpPrompt,
  type McpPromptMessage,
  type McpResource,
  McpServers,
} from "./mcp/mcp-servers.ts";

// Other agents that it calls
export type {
  SubAgentAtUrl,
  SubAgentDefinition,
  SubAgentHere,
  SubAgentsDefinition,
} from "./sub-agents/sub-agent-settings.ts";
export type {
  SubAgentCallEvent,
  SubAgentEvent,
  SubAgentQuestionEvent,
} from "./sub-agents/sub-agent-events.ts";
export type { SubAgentReport } from "./sub-agents/sub-agent-link.ts";

// Approvals of tool calls
export type { Approval, ApprovalAnswer, ApprovalDecision } from "@convoke/protocol";
export type { ApprovalDecidedEvent, ApprovalRequestedEvent } from "./approvals/gate.ts";
export { acceptAnswer } from "./approvals/accept-answer.ts";
export { type Answer, type AnswerFacts, checkAnswer } from "./approvals/check-answer.ts";
export { digestArguments } from "./approvals/gate.ts";
export type { Grant, GrantStore } from "./approvals/grants.ts";
export { type OpenRequest, openRequestsOf } from "./approvals/open-request.ts";
export { redactAnswer } from "./approvals/accept-answer.ts";

// Its models
export { ModelError, type ModelErrorKind } from "./model/model-error.ts";
export type { ModelChoice, ModelOptions, ModelSpec } from "./models/model-options.ts";
export type { Model, ModelEvent, ModelRequest, TranscriptEntry } from "./model/model.ts";
export { checkModels } from "./run/agent-models.ts";
export { resolveModel } from "./models/resolve-model.ts";
