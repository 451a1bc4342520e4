import { isInside } from "./path-glob.ts";
import type { CompletePolicy } from "./policy-definition.ts";
import { MODES, type Mode, stricterMode } from "./verdict.ts";

/** What a caller asks for. Nothing here is a right: the server decides. */
export interface RightsRequest {
  readonly mode?: unknown;
  /** Run everything without asking: the mode `full`. */
  readonly autoExecute?: unknown;
  /** Trust the workspace. Only the server's `workspacePolicy` decides on this. */
  readonly isTrusted?: unknown;
  readonly workspacePath?: unknown;
}

/** What the server grants. */
export interface GrantedRights {
  readonly mode: Mode;
  readonly workspacePath: string;
  /** What was not granted, and why, for the caller. */
  readonly refused: readonly string[];
}

/** The present rights of a conversation, and the limits that the operator has set. */
export interface RightsLimits {
  readonly policy: Pick<CompletePolicy, "maxMode" | "workspacePolicy">;
  readonly mode: Mode;
  readonly workspacePath: string;
  /** Folders in which a caller may choose a workspace. */
  readonly allowedRoots: readonly string[];
}

/**
 * Grants a caller's request within the limits of the operator. What exceeds them leaves the present
 * rights as they are.
 */
export function requestRights(request: RightsRequest, limits: RightsLimits): GrantedRights {
  const refused: string[] = [];
  const mode = grantedMode(request, limits, refused);
  const { workspacePath: wish } = request;
  let { workspacePath } = limits;
  if (typeof wish === "string" && wish !== workspacePath) {
    if (limits.allowedRoots.some((root) => isInside(wish, root))) workspacePath = wish;
    else refused.push("workspacePath is not in a folder that this server allows");
  } else if (wish !== undefined && typeof wish !== "string") {
    refused.push("workspacePath must be a path");
  }
  if (request.isTrusted === true && limits.policy.workspacePolicy !== "trust") {
    refused.push("isTrusted: only the server decides which workspaces it trusts");
  }
  return { mode, workspacePath, refused };
}

function grantedMode(request: RightsRequest, limits: RightsLimits, refused: string[]): Mode {
  const { maxMode } = limits.policy;
  const wish = request.mode ?? (request.autoExecute === true ? "full" : limits.mode);
  const name = request.mode === undefined ? "autoExecute" : "mode";
  const mode = MODES.find((one) => one === wish);
  if (mode === undefined) {
    refused.push(`mode must be one of ${MODES.join(", ")}`);
    return limits.mode;
  }
  if (mode === limits.mode || stricterMode(mode, maxMode) === mode) return mode;
  refused.push(`${name} needs the mode ${mode}; this server allows at most ${maxMode}`);
  return limits.mode;
}
