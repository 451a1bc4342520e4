import { parseRetryAfter } from "@convoke/protocol/internal";
import { ERRORS, type ErrorReason, GRPC_STATUS, RemoteError } from "@convoke/protocol";
import type { HttpAnswer } from "@convoke/egress/http";

/** The head of the response that carries an error. */
export type ResponseHead = Pick<HttpAnswer, "status" | "statusText" | "headers">;

interface ErrorBody {
  readonly error?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly data?: unknown;
  readonly details?: unknown;
  readonly status?: unknown;
}

/**
 * The error in a parsed body, or `undefined` if it has none. Servers write
 * `{ error: { code, message } }`, and in `event: error` frames also the bare object.
 */
export function errorIn(body: unknown, head: ResponseHead): RemoteError | undefined {
  const { error } = asBody(body);
  if (error === undefined || error === null) return undefined;
  return remoteError(error, head);
}

/** The error that a failed response describes, in whatever form. */
export function parseError(
  text: string,
  head: ResponseHead,
  title: string = statusLine(head),
): RemoteError {
  const body = parse(text);
  const named = errorIn(body, head);
  if (named !== undefined) return named;
  if (typeof asBody(body).message === "string") return remoteError(body, head);
  const words = readableText(text);
  return createError(words === "" ? title : `${title}: ${words}`, head, {});
}

function statusLine({ status, statusText }: ResponseHead): string {
  return `HTTP ${status} ${statusText}`.trim();
}

/** Enough to recognise a proxy's page without printing all of it. */
const LONGEST_QUOTE = 200;

/** The readable text of a body; of an HTML page only its title. */
function readableText(text: string): string {
  const isPage = /^\s*(?:<!doctype html|<html|<head|<\?xml)/i.test(text);
  const [, title = ""] = isPage ? (/<title[^>]*>([^<]*)/i.exec(text) ?? []) : ["", text];
  return title.replaceAll(/\s+/g, " ").trim().slice(0, LONGEST_QUOTE);
}

/**
 * Three forms: the error of JSON-RPC, the same without an envelope on REST 0.3, and on REST 1.0 a
 * google.rpc.Status, whose code is the HTTP status and whose details name the reason.
 */
function remoteError(value: unknown, head: ResponseHead): RemoteError {
  const { code, message, data, details, status } = asBody(value);
  const words = typeof message === "string" ? message : JSON.stringify(value);
  if (typeof status !== "string" && !Array.isArray(details)) {
    // Proxies write codes into their bodies, too, but those are HTTP or gRPC statuses.
    const isOfAgent = errorReasonInDetails(data) !== undefined || Number(code) < 0;
    return createError(words, head, { data, isOfAgent, ...(typeof code === "number" && { code }) });
  }
  const named = errorReasonInDetails(details);
  const reason = named ?? errorReasonFromStatus(String(status), words);
  return createError(words, head, {
    data: details,
    isOfAgent: named !== undefined,
    ...(reason && { reason, code: ERRORS[reason].code }),
  });
}

interface ErrorContent {
  readonly code?: number;
  readonly reason?: ErrorReason;
  readonly data?: unknown;
  /** Whether the error is in the words of A2A, which no proxy speaks. */
  readonly isOfAgent?: boolean;
}

function createError(
  words: string,
  head: ResponseHead,
  { code, data, reason, isOfAgent = false }: ErrorContent,
): RemoteError {
  const { status: httpStatus, headers } = head;
  const known = reason ?? errorReason({ httpStatus, code, details: data });
  const retryAfterMs = parseRetryAfter(headers["retry-after"]) ?? retryDelayIn(data);
  const isRefusal =
    httpStatus === 429 ||
    (httpStatus === 503 && retryAfterMs !== undefined) ||
    (isOfAgent && isOverload(known));
  return new RemoteError(withChallenge(words, head), {
    httpStatus,
    code,
    reason: known,
    data,
    retryAfterMs,
    // What ends an open stream comes after the agent has accepted the request.
    ...(isRefusal && !isEventStream(head) && { processed: false }),
  });
}

/**
 * Whether the agent refuses a request for its load. Only in the agent's own words does it mean that
 * the request was not processed: a bare 503, or `UNAVAILABLE`, may be of a proxy that lost the agent
 * at work.
 */
export function isOverload(reason: ErrorReason | undefined): boolean {
  return reason === "Unavailable" || reason === "TooManyRequests";
}

/** A rejected caller needs to know which credentials would be accepted. */
function withChallenge(words: string, { status, headers }: ResponseHead): string {
  const asks = headers["www-authenticate"];
  if (status !== 401 || asks === undefined || asks === "") return words;
  return `${words}; it asks for ${asks.replaceAll(/\s+/g, " ").slice(0, LONGEST_QUOTE)}`;
}

function asBody(value: unknown): ErrorBody {
  return typeof value === "object" && value !== null ? value : {};
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export function isOk({ status }: ResponseHead): boolean {
  return status >= 200 && status < 300;
}

export function isEventStream({ headers }: ResponseHead): boolean {
  return headers["content-type"]?.toLowerCase().startsWith("text/event-stream") === true;
}

/** What is known about an error, on any binding. */
interface ErrorFacts {
  readonly httpStatus: number;
  readonly code?: number | undefined;
  /** Typed details, if the agent sent any (1.0 §9.5). */
  readonly details?: unknown;
}

const REASONS = Object.keys(ERRORS) as ErrorReason[];

/** Transport errors, such as 401, have an HTTP status of their own. */
const BY_STATUS = new Map(
  REASONS.flatMap((reason): (readonly [number, ErrorReason])[] =>
    "transport" in ERRORS[reason] ? [[ERRORS[reason].http, reason]] : [],
  ),
);

/** Several reasons may share a code; the first one in the table wins. */
const BY_CODE = new Map<number, ErrorReason>(
  [...REASONS].reverse().map((reason) => [ERRORS[reason].code, reason]),
);

/** The reason of an error: from its details, else from its HTTP status, else from its code. */
function errorReason({ httpStatus, code, details }: ErrorFacts): ErrorReason | undefined {
  const named = errorReasonInDetails(details);
  if (named !== undefined) return named;
  if (code === undefined || code === ERRORS.Internal.code) {
    const refused = BY_STATUS.get(httpStatus);
    if (refused !== undefined) return refused;
  }
  return code === undefined ? undefined : BY_CODE.get(code);
}

/** `TASK_NOT_FOUND` is TaskNotFound; some servers write `TASK_NOT_FOUND_ERROR`. */
const BY_NAME = new Map(REASONS.map((reason) => [reason.toUpperCase(), reason]));

/** The reason in the ErrorInfo of the details. */
export function errorReasonInDetails(details: unknown): ErrorReason | undefined {
  if (!Array.isArray(details)) return undefined;
  for (const detail of details as readonly unknown[]) {
    const { reason } = (detail ?? {}) as { readonly reason?: unknown };
    if (typeof reason !== "string") continue;
    const name = reason.replaceAll("_", "").toUpperCase();
    const found = BY_NAME.get(name) ?? BY_NAME.get(name.replace(/ERROR$/, ""));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** How long the RetryInfo of the details asks to wait, in milliseconds. */
export function retryDelayIn(details: unknown): number | undefined {
  if (!Array.isArray(details)) return undefined;
  for (const detail of details as readonly unknown[]) {
    const { retryDelay } = (detail ?? {}) as { readonly retryDelay?: unknown };
    const [, seconds] = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(String(retryDelay)) ?? [];
    if (seconds !== undefined) return Math.ceil(Number(seconds) * 1000);
  }
  return undefined;
}

export function grpcStatusName(number: number): string {
  return GRPC_STATUS[number] ?? "UNKNOWN";
}

/** The usual reason of a gRPC status; several errors share most of them. */
const USUAL: Readonly<Record<string, ErrorReason>> = {
  INVALID_ARGUMENT: "InvalidParams",
  NOT_FOUND: "TaskNotFound",
  PERMISSION_DENIED: "Forbidden",
  RESOURCE_EXHAUSTED: "TooManyRequests",
  FAILED_PRECONDITION: "UnsupportedOperation",
  UNIMPLEMENTED: "MethodNotFound",
  INTERNAL: "Internal",
  UNAVAILABLE: "Unavailable",
  UNAUTHENTICATED: "Unauthenticated",
};

/**
 * The reason of an error from its gRPC status and message: 0.3 has no details, but its servers start
 * the message with the title in the specification.
 */
export function errorReasonFromStatus(status: string, message: string): ErrorReason | undefined {
  const words = message.toLowerCase();
  const titled = (Object.keys(ERRORS) as ErrorReason[]).find((reason) => {
    const { title, grpc, ...row } = ERRORS[reason];
    const hasStatus = grpc === status || ("patch0" in row && hadStatusBefore(row.patch0, status));
    return hasStatus && words.startsWith(title.toLowerCase());
  });
  return titled ?? USUAL[status];
}

/** 1.0.0, and the SDKs before it, had another status for some errors. */
function hadStatusBefore(patch: object, status: string): boolean {
  return "grpc" in patch && patch.grpc === status;
}
