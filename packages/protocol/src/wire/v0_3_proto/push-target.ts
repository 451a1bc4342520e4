import { fieldIn, isObject } from "../../internal/json.ts";
import type { PushTarget } from "../../model/requests.ts";
import { protoShape, readProtoFields } from "../codec/proto-fields.ts";
import { decodePushTarget as decodeTarget03 } from "../v0_3/push-target.ts";

// A PushNotificationConfig is the same in both dialects of 0.3.
export { encodePushTarget } from "../v0_3/push-target.ts";

const TARGET = protoShape(["id", "url", "token", "authentication", "headers"]);
const AUTHENTICATION = protoShape(["schemes", "credentials"]);

/** Decodes a PushNotificationConfig from a caller. An empty id and an empty authentication count as absent. */
export function decodePushTarget(value: unknown, field: string): PushTarget {
  const named = readProtoFields(value, TARGET, field) as { readonly id?: unknown };
  if (typeof named !== "object") return decodeTarget03(named, field);
  const { id, authentication, ...rest } = named as {
    readonly id?: unknown;
    readonly authentication?: unknown;
  };
  const target = {
    ...rest,
    ...(id !== undefined && id !== "" && { id }),
    ...(authentication !== undefined &&
      !isUnset(authentication) && {
        authentication: readProtoFields(
          authentication,
          AUTHENTICATION,
          fieldIn(field, "authentication"),
        ),
      }),
  };
  return decodeTarget03(target, field);
}

/** In a proto an empty list and an empty text are the same as no field. */
function isUnset(authentication: unknown): boolean {
  if (!isObject(authentication)) return false;
  const { schemes, credentials } = authentication;
  const hasSchemes = schemes !== undefined && !(Array.isArray(schemes) && schemes.length === 0);
  return !hasSchemes && (credentials === undefined || credentials === "");
}
