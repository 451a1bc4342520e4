import type { PushAuthentication, PushTarget } from "../../model/requests.ts";
import { compileCheck } from "../../schema/compile-schema.ts";
import { checkPushTarget } from "../codec/push-target.ts";
import { PUSH_TARGET } from "./schemas.ts";

const check = compileCheck(PUSH_TARGET);

/** Decodes a PushNotificationConfig from a caller. An empty token and empty credentials count as absent. */
export function decodePushTarget(value: unknown, field: string): PushTarget {
  check(value, field);
  const { id, url, token, authentication, headers } = value as PushTarget;
  const target: PushTarget = {
    ...(id !== undefined && { id }),
    url,
    ...(token && { token }),
    ...(authentication && { authentication: toAuthentication(authentication) }),
    ...(headers && { headers }),
  };
  checkPushTarget(target, { field, scheme: (place) => `authentication.schemes[${place}]` });
  return target;
}

function toAuthentication({ schemes, credentials }: PushAuthentication): PushAuthentication {
  return { schemes, ...(credentials && { credentials }) };
}

/** Encodes a target. The model has the form of 0.3. */
export function encodePushTarget(target: PushTarget): PushTarget {
  const { id, url, token, authentication, headers } = target;
  return {
    ...(id !== undefined && { id }),
    url,
    ...(token !== undefined && { token }),
    ...(authentication && { authentication }),
    ...(headers && { headers }),
  };
}
