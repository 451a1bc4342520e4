import { invalidParams } from "../errors.ts";
import type { PushTarget } from "../push-config.ts";
import { fieldIn } from "./check.ts";

const MAX_HEADERS = 20;

const MAX_NAME = 256;

const MAX_VALUE = 16_384;

/** Headers that no caller may set, with the reason it is told. The first that matches counts. */
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

/** Accepts the further headers of a push target, or throws an error that names the header and the reason. */
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
    const reason = whyDenied(lower, hasAuthentication);
    if (reason !== undefined) throw invalidParams(header, `must not be set: ${reason}`);
    checkValue(value, header);
  }
}

/** A name that is none is quoted, because it may hold anything. */
function checkName(name: string, field: string): void {
  if (isHttpToken(name) && name.length <= MAX_NAME) return;
  const shown = JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}…` : name);
  throw invalidParams(field, `has the header ${shown}, which is no name that a header can have`);
}

function checkValue(value: unknown, field: string): void {
  if (typeof value !== "string") throw invalidParams(field, "must be a string");
  if (value.length > MAX_VALUE) {
    throw invalidParams(field, `must not have more than ${MAX_VALUE} characters`);
  }
  checkHeaderText(value, field);
}

function whyDenied(name: string, hasAuthentication: boolean): string | undefined {
  if (name === "authorization" && hasAuthentication)
    return "authentication already says what it is";
  return DENIED.find(([pattern]) => pattern.test(name))?.[1];
}

/** RFC 9110 §5.6.2: what the name of a header, or of an authentication scheme, is made of. */
function isHttpToken(text: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text);
}

/** Refuses what no header can carry: a line break would end the header and begin another. */
function checkHeaderText(text: string, field: string): void {
  if (/^[\u0020-\u007E\u00A0-\u00FF]*$/.test(text)) return;
  throw invalidParams(
    field,
    "must not contain line breaks, other control characters or characters beyond Latin-1, " +
      "because it is sent as a header",
  );
}
