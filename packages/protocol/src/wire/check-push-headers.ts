import { invalidParams } from "../errors.ts";
import { fieldIn } from "./check.ts";
import { checkHeaderText, isHttpToken } from "./header-text.ts";

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

/** Accepts the further headers of a push target, or throws an error that names the header and the reason. */
export function checkPushHeaders(
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
