// Asking for approvals without the loop. Internal: not covered by semantic versioning.
export { askApproval } from "./gate.ts";
export { approvalRequest } from "./open-request.ts";
export { questionMessage, readsWordsOnly } from "./question-message.ts";
