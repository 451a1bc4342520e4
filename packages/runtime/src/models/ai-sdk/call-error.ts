import { isObject, parseRetryAfter } from "@convoke/protocol/internal";
import { LostAnswerError, ModelError, type ModelErrorKind } from "../../model/model-error.ts";

/** The target of a request, for error messages. */
export interface CallPlace {
  /** The model id. */
  readonly id: string;
  /** The environment variable to name when the provider rejects the key. */
  readonly keyVariable?: string | undefined;
  /** Values that must never appear in a message. */
  readonly secrets?: readonly string[];
}

/**
 * Converts a failed request to a `ModelError`. The message consists of our own text and the
 * provider's error codes. The provider's text may quote the prompt, so it is only in the cause, for
 * the operator's log.
 */
export function toModelError(error: unknown, place: CallPlace): ModelError {
  const own = ownError(error);
  if (own !== undefined) return own;
  const facts = errorFacts(error);
  const kind = kindOf(error, facts.status, facts.hints);
  const codes = [facts.status, ...facts.codes].filter((code) => code !== undefined).join(" ");
  const detail = codes === "" ? "" : ` (${codes})`;
  return new ModelError(kind, `${place.id}: ${words(kind, facts.status, place)}${detail}`, {
    cause: new Error(redacted(facts.words, place.secrets ?? [])),
    retryAfterMs:
      kind === "overloaded" || kind === "unreachable" ? parseRetryDelay(error) : undefined,
  });
}

/**
 * Finds an error that is already a `ModelError`, for example from a fetch that blocks an address.
 */
function ownError(error: unknown): ModelError | undefined {
  if (error instanceof ModelError) return error;
  return error instanceof Error && error.cause !== undefined ? ownError(error.cause) : undefined;
}

function kindOf(error: unknown, status: number | undefined, hints: string): ModelErrorKind {
  if (error instanceof LostAnswerError || isNetworkError(error)) return "unreachable";
  // The SDK's message for OpenAI-compatible servers whose stream ended early.
  if (/stream ended without/.test(hints)) return "unreachable";
  if (isUnreadable(error)) return "unreadable";
  if (isTooLong(status, hints)) return "too-long";
  // Retrying does not help when the account has no credit.
  if (/insufficient_quota|billing_error/.test(hints)) return "unavailable";
  if (status !== undefined) return kindOfStatus(status);
  return kindOfHints(error, hints);
}

/** The error kind for a provider's HTTP status. */
export function kindOfStatus(status: number): ModelErrorKind {
  if (status === 401 || status === 403) return "unauthorized";
  if (status === 429 || status === 503 || status === 529) return "overloaded";
  if (status === 404) return "unavailable";
  if (status === 413) return "too-long";
  if (status === 408 || status >= 500) return "unreachable";
  return status >= 400 ? "refused" : "unreadable";
}

function kindOfHints(error: unknown, hints: string): ModelErrorKind {
  if (/loadapikey|authentication|permission/.test(hints)) return "unauthorized";
  if (/rate_limit|overloaded|resource_exhausted/.test(hints)) return "overloaded";
  if (/unsupportedfunctionality|invalidprompt|invalidargument|invalid_request/.test(hints)) {
    return "refused";
  }
  // An error that the provider reports mid-answer without a code may be temporary.
  return error instanceof Error ? "unreadable" : "unreachable";
}

function isNetworkError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { readonly code?: unknown };
  if (typeof code === "string" && /^(E[A-Z]{3,}|UND_ERR_\w+)$/.test(code)) return true;
  if (error instanceof TypeError && /^(fetch failed|terminated)$/i.test(error.message)) return true;
  return isNetworkError(error.cause);
}

function isUnreadable(error: unknown): boolean {
  if (!isObject(error)) return false;
  const name = String(error["name"]);
  if (/JSONParse|TypeValidation|InvalidResponseData|EmptyResponseBody/.test(name)) return true;
  return isUnreadable(error["cause"]);
}

function isTooLong(status: number | undefined, hints: string): boolean {
  if (status !== undefined && status !== 400 && status !== 413 && status !== 422) return false;
  return /context_length|exceed_context|prompt is too long|context limit|context length|context size|context window|input token count.*exceeds/.test(
    hints,
  );
}

function words(kind: ModelErrorKind, status: number | undefined, place: CallPlace): string {
  switch (kind) {
    case "unreachable":
      if (status !== undefined && status >= 400) return "the provider failed";
      return "the provider could not be reached, or the connection was lost";
    case "overloaded":
      return "the provider has too much to do";
    case "unauthorized":
      return place.keyVariable === undefined
        ? "the provider refused the key"
        : `the provider refused the key; set ${place.keyVariable} to one that may use this model`;
    case "unavailable":
      return status === 404
        ? "the provider does not know this model or address"
        : "the account at the provider has no credit";
    case "refused":
      return "the provider refused the request";
    case "too-long":
      return "the conversation is longer than the model can read";
    case "unreadable":
      return "the answer of the provider could not be read";
  }
}

/** Longer error texts from providers are cut. */
const MAX_LENGTH = 500;

/** Removes keys from a provider's text: the known secrets, and anything that looks like a key. */
export function redacted(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret !== "") clean = clean.replaceAll(secret, "[key]");
  }
  return clean
    .replace(/\b(bearer)\s+\S+/gi, "$1 [key]")
    .replace(/\b(sk|pk|key|AIza)[-_][\w*-]{6,}|\bAIza[\w-]{10,}/g, "[key]")
    .replace(/(https?:\/\/)[^\s/@]*@/gi, "$1")
    .replace(/(https?:\/\/[^\s?#]+)\?[^\s"')]*/gi, "$1")
    .slice(0, MAX_LENGTH);
}

/** The delay in milliseconds after which the provider says a retry may succeed. */
export function parseRetryDelay(error: unknown, now = Date.now()): number | undefined {
  if (!isObject(error)) return undefined;
  const headers = isObject(error["responseHeaders"]) ? error["responseHeaders"] : {};
  const milliseconds = Number(headers["retry-after-ms"] ?? Number.NaN);
  if (milliseconds >= 0) return milliseconds;
  return fromHeader(headers["retry-after"], now) ?? fromGoogle(error["data"]);
}

/**
 * Parses `Retry-After`. Some providers send fractions of a second, which the standard does not
 * allow.
 */
function fromHeader(value: unknown, now: number): number | undefined {
  if (typeof value !== "string") return undefined;
  return /^\d*\.\d+$/.test(value) ? Number(value) * 1000 : parseRetryAfter(value, now);
}

/** Google puts the delay into the error details of the body: `{ "retryDelay": "34s" }`. */
function fromGoogle(data: unknown): number | undefined {
  const error = isObject(data) && isObject(data["error"]) ? data["error"] : data;
  const details = isObject(error) ? error["details"] : undefined;
  if (!Array.isArray(details)) return undefined;
  for (const detail of details as readonly unknown[]) {
    const delay = isObject(detail) ? detail["retryDelay"] : undefined;
    const [, seconds] = /^([\d.]+)s$/.exec(String(delay)) ?? [];
    if (seconds !== undefined) return Number(seconds) * 1000;
  }
  return undefined;
}

/** The relevant facts of an AI SDK or provider error, wherever they are stored. */
interface ErrorFacts {
  readonly status: number | undefined;
  /**
   * The provider's error codes, such as `rate_limit_error`. Text with spaces is excluded, so that
   * no prose gets in.
   */
  readonly codes: readonly string[];
  /** The provider's error text. It may quote anything. */
  readonly words: string;
  /** All texts in lower case, for matching known patterns. */
  readonly hints: string;
}

/** Error codes and field paths, such as `tools[0].function.name`. Longer values are not codes. */
const CODE = /^[a-z_][\w.[\]-]{1,79}$/i;

function errorFacts(error: unknown): ErrorFacts {
  const record = isObject(error) ? error : {};
  const data = isObject(record["data"]) ? record["data"] : {};
  const inner = isObject(data["error"]) ? data["error"] : data;
  const cause = isObject(record["cause"]) ? record["cause"] : {};
  const named = [inner, record, cause].flatMap(({ type, code, param, status }) => [
    type,
    code,
    param,
    status,
  ]);
  const codes = [
    ...new Set(named.filter((code): code is string => typeof code === "string" && CODE.test(code))),
  ].filter((code) => code !== "error");
  const words = [error, record["message"]].find((text) => typeof text === "string") ?? "";
  return {
    status: statusOf(record["statusCode"] ?? record["code"]),
    codes: codes.slice(0, 3),
    words,
    hints: [record["name"], ...codes, words].join(" ").toLowerCase(),
  };
}

function statusOf(value: unknown): number | undefined {
  const status = Number(value);
  return Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined;
}
