import {
  A2AError,
  type AgentInfo,
  type Caller,
  EXTENSIONS,
  type Message,
  type OperationName,
  type RequiredScopes,
} from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";

/** The operations under `/convoke/`, which are not part of A2A. */
export type AdminOperation =
  | "describeServer"
  | "readMetrics"
  | "listApprovals"
  | "decideApproval"
  | "deleteTasks"
  | "eraseData"
  | "listPushes"
  | "replayPushes"
  | "testPush"
  | "listGrants"
  | "removeGrant";

/** The operations on the agents of the server, for its operators. */
export type AgentOperation = "listAgents" | "enableAgent" | "disableAgent";

/** What a caller wants to do. */
export interface AuthorizationRequest {
  readonly operation: OperationName | AdminOperation | AgentOperation;
  /** The skills that the message names, or the only skill of the agent. Empty for other operations. */
  readonly skills: readonly string[];
  /** The request of the operation, decoded: the same in all bindings and versions. */
  readonly request: unknown;
}

/** Whether a caller may do something, and if not, why. The caller sees the reason. */
export type AuthorizationDecision = boolean | { readonly allow: boolean; readonly reason?: string };

/**
 * Decides about a request, after its scopes were checked. Throw an `A2AError` to reject it in
 * another way. Any other error is logged, and the caller gets 500 with an id to find it.
 */
export type Authorize = (
  caller: Caller,
  request: AuthorizationRequest,
) => AuthorizationDecision | Promise<AuthorizationDecision>;

/** What callers may do. */
export interface AuthorizationOptions {
  /**
   * The scopes that a caller needs, by skill and by operation; all of a list are required. They
   * replace those of the agent definition one by one. Default: those of the agent definition.
   *
   * @example
   * scopes: { skills: { "admin-tools": ["admin"] }, operations: { cancelTask: ["write"] } }
   */
  readonly scopes?: RequiredScopes<AuthorizationRequest["operation"]>;
  /**
   * A policy of your own, for every operation. Default: what the scopes allow is allowed.
   *
   * @example
   * authorize: async (caller, { operation }) =>
   *   operation !== "sendMessage" || (await hasBudget(caller.owner)) || { allow: false, reason: "no budget" }
   */
  readonly authorize?: Authorize;
}

/** Decides whether a caller may do what it wants. */
export class Authorization {
  readonly #info: () => AgentInfo;
  readonly #options: AuthorizationOptions;

  /** @param info the info of the agent, which may change */
  constructor(info: () => AgentInfo, options: AuthorizationOptions = {}) {
    this.#info = info;
    this.#options = options;
  }

  /** The scopes that messages for a skill need, by definition or configuration. */
  scopesForSkill(id: string): readonly string[] {
    const bySkill = { ...this.#info().scopes?.skills, ...this.#options.scopes?.skills };
    return Object.hasOwn(bySkill, id) ? (bySkill[id] ?? []) : [];
  }

  /** Whether some callers may not do everything. */
  get isLimited(): boolean {
    const { scopes, authorize } = this.#options;
    return scopes !== undefined || authorize !== undefined || this.#info().scopes !== undefined;
  }

  /** Throws unless the caller may perform the operation. Looks nothing up, so it reveals nothing. */
  async check(
    caller: Caller,
    operation: AuthorizationRequest["operation"],
    request: unknown,
  ): Promise<void> {
    if (!this.isLimited) return;
    const info = this.#info();
    const { scopes, authorize } = this.#options;
    const operations = { ...info.scopes?.operations, ...scopes?.operations };
    requireScopes(caller, operations[operation], `operation '${operation}'`);
    const skills = skillsIn(request, info);
    for (const id of skills) requireScopes(caller, this.scopesForSkill(id), `skill '${id}'`);
    const decision = (await authorize?.(caller, { operation, skills, request })) ?? true;
    const { allow, reason } = typeof decision === "boolean" ? { allow: decision } : decision;
    if (allow !== true)
      throw denied(reason ?? `Insufficient permissions for operation '${operation}'`);
  }
}

/** The skills in `scopes` that no card has: probably a typing error, which would leave one open. */
export function unknownSkills(
  infos: readonly AgentInfo[],
  { scopes }: { readonly scopes: AuthorizationOptions["scopes"] | undefined },
): readonly string[] {
  const known = new Set(infos.flatMap(({ skills }) => skills.map(({ id }) => id)));
  const named = [...infos.map((info) => info.scopes), scopes].flatMap((one) =>
    Object.keys(one?.skills ?? {}),
  );
  return [...new Set(named)].filter((id) => !known.has(id));
}

/**
 * The skills that a message names: by the skill extension, or in its metadata as `skillId` or
 * `skill`. If several are named, all of them count. One that names none is for the only skill of the
 * agent; if there are several, it is for none.
 */
function skillsIn(request: unknown, { skills }: AgentInfo): readonly string[] {
  const message = isObject(request) ? (request["message"] as Message | undefined) : undefined;
  if (message === undefined) return [];
  const { metadata = {} } = message;
  const chosen = metadata[EXTENSIONS.skill.uri];
  const named = [
    isObject(chosen) ? chosen["id"] : undefined,
    metadata["skillId"],
    metadata["skill"],
  ].filter((id) => typeof id === "string");
  if (named.length > 0) return [...new Set(named)];
  return skills.length === 1 ? skills.map(({ id }) => id) : [];
}

/** The required scopes that a caller does not have. */
export function missingScopes(
  { scopes = [] }: Caller,
  required: readonly string[],
): readonly string[] {
  return required.filter((scope) => !scopes.includes(scope));
}

function requireScopes(
  caller: Caller,
  required: readonly string[] | undefined = [],
  what: string,
): void {
  const missing = missingScopes(caller, required);
  if (missing.length === 0) return;
  throw denied(`Insufficient permissions for ${what}`, { missing, required });
}

/**
 * The error for a caller that may not do something. It names scopes and nothing else.
 *
 * @param required all scopes that are needed, for a client that asks for a new token
 */
export function denied(
  detail: string,
  scopes: { readonly missing: readonly string[]; readonly required: readonly string[] } = NONE,
): A2AError {
  const { missing, required } = scopes;
  return new A2AError("Forbidden", detail, {
    details: {
      reason: "forbidden",
      ...(missing.length > 0 && { missingScopes: missing.join(" ") }),
      ...(required.length > 0 && { requiredScopes: required.join(" ") }),
    },
  });
}

const NONE = { missing: [], required: [] };
