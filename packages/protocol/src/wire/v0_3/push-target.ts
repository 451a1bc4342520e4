import type { PushAuthentication, PushTarget } from "../../push-config.ts";
import { checkPushTarget } from "../check-push-target.ts";
import { checkOf } from "../check.ts";
import { PUSH_TARGET } from "./schemas.ts";

const check = checkOf(PUSH_TARGET);

/** Reads a PushNotificationConfig of a caller. An empty token, or empty credentials, are none. */
export function decodePushTarget(value: unknown, field: string): PushTarget {
  check(value, field);
  const { id, url, token, authentication, headers } = value as PushTarget;
  const target: PushTarget = {
    ...(id !== undefined && { id }),
    url,
    ...(token && { token }),
    ...(authentication && { authentication: authenticationOf(authentication) }),
    ...(headers && { headers }),
  };
  checkPushTarget(target, { field, scheme: (place) => `authentication.schemes[${place}]` });
  return target;
}

function authenticationOf({ schemes, credentials }: PushAuthentication): PushAuthentication {
  return { schemes, ...(credentials && { credentials }) };
}

/** Writes one. The model of a target is the one of 0.3. */
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
