import type { PushTarget } from "../../model/requests.ts";
import { compileCheck } from "../../schema/compile-schema.ts";
import { jsonShape, readProtoFields } from "../codec/proto-fields.ts";
import { checkPushTarget } from "../codec/push-target.ts";
import { PUSH_TARGET } from "./schemas.ts";

const check = compileCheck(PUSH_TARGET);

/** Also the request that creates a config. */
export const TARGET_SHAPE = jsonShape([
  "tenant",
  "id",
  "taskId",
  "url",
  "token",
  "authentication",
  "headers",
]);

/** A target in 1.0: it has exactly one scheme, and unset fields may be empty. */
export interface WireTarget {
  readonly id?: string;
  readonly url: string;
  readonly token?: string;
  readonly authentication?: { readonly scheme: string; readonly credentials?: string };
  readonly headers?: Readonly<Record<string, string>>;
}

/** Decodes the target in a TaskPushNotificationConfig from a caller. */
export function decodePushTarget(value: unknown, field: string): PushTarget {
  const named = readProtoFields(value, TARGET_SHAPE, field);
  check(named, field);
  const target = toTarget(named as WireTarget);
  checkPushTarget(target, { field, scheme: () => "authentication.scheme" });
  return target;
}

/** Converts a target whose fields have the right types. */
export function toTarget(value: WireTarget): PushTarget {
  const { id, url, token, authentication, headers } = value;
  const { scheme, credentials } = authentication ?? {};
  return {
    ...(id && { id }),
    url,
    ...(token && { token }),
    ...(scheme && { authentication: { schemes: [scheme], ...(credentials && { credentials }) } }),
    ...(headers && { headers }),
  };
}

/** Encodes a target. 1.0 has one scheme only, so the first and preferred one is kept. */
export function encodePushTarget(target: PushTarget): WireTarget {
  const { id, url, token, authentication, headers } = target;
  const { schemes: [scheme] = [], credentials } = authentication ?? {};
  return {
    ...(id !== undefined && { id }),
    url,
    ...(token !== undefined && { token }),
    ...(scheme && { authentication: { scheme, ...(credentials && { credentials }) } }),
    ...(headers && { headers }),
  };
}
