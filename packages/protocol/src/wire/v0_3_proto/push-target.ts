import type { PushTarget } from "../../model/requests.ts";
import { protoShape, readProtoFields } from "../codec/proto-fields.ts";
import { decodePushTarget as decodeTarget03 } from "../v0_3/push-target.ts";

// A PushNotificationConfig is the same in both dialects of 0.3.
export { encodePushTarget } from "../v0_3/push-target.ts";

const TARGET = protoShape(["id", "url", "token", "authentication"]);
const AUTHENTICATION = protoShape(["schemes", "credentials"]);

/** Decodes a PushNotificationConfig from a caller. An empty id counts as absent. */
export function decodePushTarget(value: unknown, field: string): PushTarget {
  const named = readProtoFields(value, TARGET) as { readonly id?: unknown };
  if (typeof named !== "object") return decodeTarget03(named, field);
  const { id, authentication, ...rest } = named as {
    readonly id?: unknown;
    readonly authentication?: unknown;
  };
  const target = {
    ...rest,
    ...(id !== undefined && id !== "" && { id }),
    ...(authentication !== undefined && {
      authentication: readProtoFields(authentication, AUTHENTICATION),
    }),
  };
  return decodeTarget03(target, field);
}
