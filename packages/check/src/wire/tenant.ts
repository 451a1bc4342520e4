import { isObject } from "./json.ts";

/** The params with the tenant that the card names for this interface (1.0 §8.3.2). */
export function withTenant(params: unknown, tenant: string): unknown {
  return tenant !== "" && isObject(params) ? { tenant, ...params } : params;
}
