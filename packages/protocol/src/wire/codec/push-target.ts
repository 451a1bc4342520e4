import { invalidParams } from "../../model/errors.ts";
import type { PushTarget } from "../../model/requests.ts";
import { fieldIn } from "../../internal/json.ts";

/** What the fields of a push target are called in the request, for errors. */
interface Spelling {
  /** The target itself. */
  readonly field: string;
  /** One of its schemes. */
  readonly scheme: (place: number) => string;
}

/** Checks the values of a push target that schemas cannot describe, for all versions. */
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

/** The URL parser drops line breaks silently, so they are checked first. */
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

const MAX_HEADERS = 20;

/** Checks the additional headers of a push target; an error names the header and the reason. */
function checkPushHeaders(
  headers: Readonly<Record<string, unknown>>,
  field: string,
  hasAuthentication: boolean,
): asserts headers is Readonly<Record<string, string>> {
  const entries = Object.entries(headers);
  if (entries.length > MAX_HEADERS) {
    throw invalidParams(field, `must not have more than ${MAX_HEADERS} headers`);
  }
  const names = new Set<string>();
  for (const [name, value] of entries) {
    checkName(name, field);
    const header = fieldIn(field, name);
    const lower = name.toLowerCase();
    if (names.has(lower)) throw invalidParams(header, "is given twice, in different letter case");
    names.add(lower);
    const reason = denialReason(lower, hasAuthentication);
    if (reason !== undefined) throw invalidParams(header, `must not be set: ${reason}`);
    checkValue(value, header);
  }
}

const MAX_NAME = 256;

/** An invalid name is quoted in the error, because it may contain anything. */
function checkName(name: string, field: string): void {
  if (isHttpToken(name) && name.length <= MAX_NAME) return;
  const shown = JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}…` : name);
  throw invalidParams(field, `has the header ${shown}, which is not a valid header name`);
}

const MAX_VALUE = 16_384;

function checkValue(value: unknown, field: string): void {
  if (typeof value !== "string") throw invalidParams(field, "must be a string");
  if (value.length > MAX_VALUE) {
    throw invalidParams(field, `must not have more than ${MAX_VALUE} characters`);
  }
  checkHeaderText(value, field);
}

/** Headers that callers must not set, with the reason for the error. The first match counts. */
const DENIED: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect)$/,
    "it belongs to the connection",
  ],
  [/^content-/, "it describes the body, which the server writes"],
  [/^webhook-/, "the server sets it to sign the notification"],
  [/^x-a2a-notification-token$/, "give its value as token instead"],
  [/^a2a-/, "it belongs to the protocol"],
];

function denialReason(name: string, hasAuthentication: boolean): string | undefined {
  if (name === "authorization" && hasAuthentication) return "it is derived from authentication";
  return DENIED.find(([pattern]) => pattern.test(name))?.[1];
}

/** RFC 9110 §5.6.2: the syntax of header names and authentication schemes. */
function isHttpToken(text: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text);
}

/** Rejects text that a header cannot carry: a line break would start another header. */
function checkHeaderText(text: string, field: string): void {
  if (/^[\u0020-\u007E\u00A0-\u00FF]*$/.test(text)) return;
  throw invalidParams(
    field,
    "must not contain line breaks, other control characters or characters beyond Latin-1, " +
      "because it is sent as a header",
  );
}
