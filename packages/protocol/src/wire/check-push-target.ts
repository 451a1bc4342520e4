import { invalidParams } from "../errors.ts";
import type { PushTarget } from "../push-config.ts";
import { fieldIn } from "./check.ts";
import { checkPushHeaders } from "./check-push-headers.ts";
import { checkHeaderText, isHttpToken } from "./header-text.ts";

/** How the fields of a push target are called where it came from. */
interface Spelling {
  /** The target itself. */
  readonly field: string;
  /** One of its schemes. */
  readonly scheme: (place: number) => string;
}

/** What no schema says of a push target, and both versions have in common. */
export function checkPushTarget(target: PushTarget, spelling: Spelling): void {
  const { url, token, authentication, headers } = target;
  const named = (name: string): string => fieldIn(spelling.field, name);
  checkUrl(url, named("url"));
  if (token !== undefined) checkHeaderText(token, named("token"));
  authentication?.schemes.forEach((scheme, place) => {
    checkScheme(scheme, named(spelling.scheme(place)));
  });
  if (authentication?.credentials !== undefined) {
    checkHeaderText(authentication.credentials, named("authentication.credentials"));
  }
  if (headers) checkPushHeaders(headers, named("headers"), authentication !== undefined);
}

/** A parser of URLs would drop a line break silently, so it is looked for first. */
function checkUrl(url: string, field: string): void {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001F\u007F-\u009F]/.test(url)) {
    throw invalidParams(field, "must not contain line breaks or other control characters");
  }
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return;
  throw invalidParams(
    field,
    "must be an absolute http or https URL such as https://example.com/notifications",
  );
}

function checkScheme(scheme: string, field: string): void {
  if (isHttpToken(scheme)) return;
  throw invalidParams(field, "must be the name of an HTTP authentication scheme such as Bearer");
}
