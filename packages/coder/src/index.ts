// A name added here is a promise; keep it short.

// The workspace
export { type Place, Workspace, type WorkspaceOptions } from "./workspace/workspace.ts";
export { WorkspaceError } from "./workspace/workspace-error.ts";

// Its file tools
export { type FileToolsOptions, createFileTools } from "./tools/file-tools.ts";
export type { FileAction, FilePolicy } from "./tools/file-action.ts";
export { withEditedContent } from "./tools/edited-content.ts";

// Undo
export { Checkpoints, type CheckpointsOptions } from "./checkpoints/checkpoints.ts";
export type { ChangeFacts, Checkpoint, CheckpointLimits } from "./checkpoints/checkpoint.ts";
export type { RestoreReport } from "./checkpoints/restorer.ts";
