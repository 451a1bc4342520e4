import type { PushTarget } from "../../push-config.ts";
import { decodePushTarget as decodeKindTarget } from "../v0_3/push-target.ts";
import { fieldsOf, shapeOf } from "./proto-fields.ts";

// A PushNotificationConfig is the same in both dialects of 0.3.
export { encodePushTarget } from "../v0_3/push-target.ts";

const TARGET = shapeOf(["id", "url", "token", "authentication"]);
const AUTHENTICATION = shapeOf(["schemes", "credentials"]);

/** Reads a PushNotificationConfig of a caller. An empty id is none. */
export function decodePushTarget(value: unknown, field: string): PushTarget {
  const named = fieldsOf(value, TARGET) as { readonly id?: unknown };
  if (typeof named !== "object") return decodeKindTarget(named, field);
  const { id, authentication, ...rest } = named as {
    readonly id?: unknown;
    readonly authentication?: unknown;
  };
  const target = {
    ...rest,
    ...(id !== undefined && id !== "" && { id }),
    ...(authentication !== undefined && {
      authentication: fieldsOf(authentication, AUTHENTICATION),
    }),
  };
  return decodeKindTarget(target, field);
}
