import type { PushTarget } from "../../push-config.ts";
import { checkPushTarget } from "../check-push-target.ts";
import { checkOf } from "../check.ts";
import { PUSH_TARGET } from "./schemas.ts";

const check = checkOf(PUSH_TARGET);

/** A target as 1.0 writes it: with exactly one scheme, and empty where it is unset. */
export interface WireTarget {
  readonly id?: string;
  readonly url: string;
  readonly token?: string;
  readonly authentication?: { readonly scheme: string; readonly credentials?: string };
  readonly headers?: Readonly<Record<string, string>>;
}

/** Reads the target in a TaskPushNotificationConfig of a caller. */
export function decodePushTarget(value: unknown, field: string): PushTarget {
  check(value, field);
  const target = targetOf(value as WireTarget);
  checkPushTarget(target, { field, scheme: () => "authentication.scheme" });
  return target;
}

/** The model of a target whose fields have the right types. */
export function targetOf(value: WireTarget): PushTarget {
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

/** Writes one. Of several schemes the first is the one to use, and 1.0 has no place for the others. */
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
