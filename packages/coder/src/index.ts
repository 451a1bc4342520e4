// A name added here is a promise; keep it short.

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
