// A name added here is a promise; keep it short.

// An agent that is a function
export { type AgentDefinition, type ModelAgentDefinition, defineAgent } from "./define-agent.ts";
export type { FunctionTurn } from "./function-turn.ts";
export type { RunResult, Yielded } from "./function-run.ts";
export { type Said, artifact, fail, reject, reply, status } from "./said.ts";
export { type StepContext, StepError, type StepOptions, StepUnknownError } from "./steps.ts";

// An agent that thinks with a model
export {
  AgentLoop,
  type AgentLoopDefinition,
  type ExecuteOptions,
} from "./agent-loop/agent-loop.ts";
export type { Budget } from "./loop/budget.ts";
export type { HookedCall, HookedResult, LoopHooks, Veto } from "./loop/hooks.ts";
export type {
  AskEvent,
  CheckpointEvent,
  LlmCallEvent,
  LlmResultEvent,
  LlmRetryEvent,
  Source,
  ToolCompleteEvent,
  ToolInterruptEvent,
  ToolOutputEvent,
  ToolProgressEvent,
  ToolStartEvent,
  TrimmedEvent,
} from "./loop/loop-events.ts";
export type { ApprovalSettings, LoopDefinition } from "./loop/loop-settings.ts";
export type { Usage } from "./loop/usage.ts";

// Its tools
export { type ToolDefinition, tool } from "./tools/define-tool.ts";
export { authRequired, inputRequired } from "./tools/interrupts.ts";
export type {
  ApprovalWords,
  ConfirmRule,
  Interrupt,
  InterruptAnswer,
  Tool,
  ToolContext,
  ToolEvent,
  ToolYield,
} from "./tools/tool.ts";

// Tools of its callers
export type { ClientToolOptions } from "./client-tools/client-tool-settings.ts";

// Its MCP servers
export type { McpFetch, McpLogger, McpOptions, McpServerConfig } from "./mcp/mcp-config.ts";
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
} from "./sub-agents/sub-agent-definition.ts";
export type {
  SubAgentCallEvent,
  SubAgentEvent,
  SubAgentQuestionEvent,
} from "./sub-agents/sub-agent-events.ts";
export type { SubAgentReport } from "./sub-agents/sub-agent-link.ts";

// Who lets them run
export type { Approval, ApprovalAnswer, ApprovalDecision } from "@convoke/protocol";
export type { ApprovalDecidedEvent, ApprovalRequestedEvent } from "./approvals/approval-events.ts";
export { acceptAnswer } from "./approvals/accept-answer.ts";
export { type Answer, type AnswerFacts, checkAnswer } from "./approvals/check-answer.ts";
export { digestArguments } from "./approvals/digest-arguments.ts";
export type { Grant, GrantStore } from "./approvals/grants.ts";
export { type OpenRequest, openRequestsOf } from "./approvals/open-request.ts";
export { redactAnswer } from "./approvals/redact-answer.ts";

// Its models
export { ModelError, type ModelErrorKind } from "./models/model-error.ts";
export type { ModelOptions, ModelSpec } from "./models/model-options.ts";
export type { Model, ModelEvent, ModelRequest, TranscriptEntry } from "./models/model.ts";
export { resolveModel } from "./models/resolve-model.ts";
