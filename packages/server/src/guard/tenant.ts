import { A2AError, type Caller } from "@convoke/protocol";

/**
 * The caller within a tenant. Tasks of one tenant are not seen from another,
 * because whoever calls there is another owner. A server without tenants has
 * none in its card, so nobody may name one (1.0 §8.3.2).
 */
export function scopedCaller(
  caller: Caller,
  tenant: string | undefined,
  tenants: ReadonlySet<string>,
): Caller {
  if (tenant === undefined || tenant === "") return caller;
  if (tenants.has(tenant)) return { ...caller, owner: JSON.stringify([tenant, caller.owner]) };
  throw new A2AError("InvalidParams", `tenant ${JSON.stringify(tenant)} is not served here`, {
    field: "tenant",
  });
}

/** The tenant that a request of 1.0 names in its parameters. */
export function tenantOf(params: unknown): string | undefined {
  const tenant = (params as { readonly tenant?: unknown } | null | undefined)?.tenant;
  if (tenant === undefined || tenant === null) return undefined;
  if (typeof tenant === "string") return tenant;
  throw new A2AError("InvalidParams", "tenant must be a string", { field: "tenant" });
}
