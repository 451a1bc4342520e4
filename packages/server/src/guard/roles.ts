import { type Caller, invalidParams } from "@convoke/protocol";
import { type AdminOperation, denied } from "./authorize.ts";
import { isUnnamed } from "../auth/authenticator.ts";
import { isOwnerIn } from "./guard.ts";

/** The scopes that make a caller more than an owner of its own tasks. */
export const ROLE_SCOPES = { approver: "convoke:approve", operator: "convoke:operate" } as const;

type Role = keyof typeof ROLE_SCOPES;

export interface RoleOptions {
  /**
   * Whether callers with the scope `convoke:approve` see and decide the approvals of all owners of
   * their tenant. Default false: only the owner of a task decides.
   */
  readonly approversActForOthers?: boolean;
}

/** An operation under `/convoke/`. Those that A2A has, too, need the same scopes there. */
export type RoleOperation = AdminOperation | "listTasks" | "getTask";

/** Which roles may do something to the tasks of all owners. Nobody may do anything else to them. */
const ROLES: Readonly<Record<RoleOperation, readonly Role[]>> = {
  describeServer: [],
  readMetrics: [],
  listTasks: ["operator"],
  getTask: ["operator"],
  deleteTasks: ["operator"],
  eraseData: ["operator"],
  listApprovals: ["operator", "approver"],
  decideApproval: ["approver"],
  listPushes: ["operator"],
  replayPushes: ["operator"],
  testPush: ["operator"],
  listGrants: ["operator", "approver"],
  removeGrant: ["operator", "approver"],
};

/**
 * Whether a caller may see and do what concerns all callers, such as metrics: with the scope, or if
 * the server has no callers to tell apart. Fewer scopes never give more, so one that is known by
 * name and has none is no operator.
 */
export function isOperator(caller: Caller): boolean {
  return isUnnamed(caller) || caller.scopes?.includes(ROLE_SCOPES.operator) === true;
}

/** Whether an operation concerns the tasks of an owner. */
export type OwnerFilter = (owner: string) => boolean;

/**
 * Decides whose tasks a request under `/convoke/` is about: those of the caller, or with `?owner=*`
 * those of all owners that the caller may act for. A caller in a tenant stays in it.
 *
 * @param caller within its tenant
 * @returns `undefined` for the caller's own tasks
 */
export function ownersFor(
  caller: Caller,
  operation: RoleOperation,
  { asked, roles = {} }: { readonly asked: string | null; readonly roles?: RoleOptions },
): OwnerFilter | undefined {
  if (asked === null) return undefined;
  if (asked !== "*") throw invalidParams("owner", 'must be "*", for all owners, or left out');
  const { approversActForOthers = false } = roles;
  const possible = ROLES[operation].filter((role) => role !== "approver" || approversActForOthers);
  const needed = possible.map((role) => ROLE_SCOPES[role]);
  if (!needed.some((scope) => caller.scopes?.includes(scope) === true)) {
    throw denied(`Insufficient permissions for operation '${operation}' of other owners`, {
      missing: needed,
      // One of them is enough.
      required: needed.slice(0, 1),
    });
  }
  const { tenant } = caller;
  return tenant === undefined ? () => true : (owner) => isOwnerIn(tenant, owner);
}
