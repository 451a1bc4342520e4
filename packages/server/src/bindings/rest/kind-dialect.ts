import type { Fields } from "./routes.ts";

/**
 * Whether a body of 0.3 is written as JSON-RPC writes it, with `kind` in its
 * objects. The proto of 0.3 has no such field anywhere (0.3 §3.2).
 */
export function isKindDialect(body: Fields): boolean {
  const message = body["message"] as { readonly parts?: unknown } | undefined;
  const parts: readonly unknown[] = Array.isArray(message?.parts) ? message.parts : [];
  return [body, message, ...parts].some(hasKind);
}

function hasKind(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "kind");
}
