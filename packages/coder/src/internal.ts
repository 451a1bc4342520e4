// For other packages of this repository: what they need without the agent and its tools, so that
// they start quickly. Internal: not covered by semantic versioning.
export { withDialects } from "./dialects/with-dialects.ts";
export { DETAILS_NOTE } from "./events/call-details.ts";
export { PLAN_NOTE, type PlanEntry } from "./events/coder-event.ts";
export { requestedSettings } from "./events/settings.ts";
export { editDetails, previewOf } from "./tools/change-preview.ts";
export type { ContentChange } from "./workspace/content-change.ts";
export { entryAt, readContent, writeContent } from "./workspace/files.ts";
export { Workspace } from "./workspace/workspace.ts";
export { WorkspaceError } from "./workspace/workspace-error.ts";
