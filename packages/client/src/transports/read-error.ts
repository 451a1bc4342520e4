import { type ErrorReason, ERRORS, RemoteError } from "@convoke/protocol";
import type { HttpAnswer } from "@convoke/egress/http";
import { reasonIn, reasonOf } from "./error-reason.ts";
import { reasonOfStatus } from "./grpc-status.ts";

/** The head of the answer that an error came with. */
export type AnswerHead = Pick<HttpAnswer, "status" | "statusText" | "headers">;

interface ErrorBody {
  readonly error?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly data?: unknown;
  readonly details?: unknown;
  readonly status?: unknown;
}

/**
 * The error in a parsed body, or `undefined` when it holds none. Servers write
 * `{ error: { code, message } }`, and in `event: error` frames also the bare object.
 */
export function errorIn(body: unknown, head: AnswerHead): RemoteError | undefined {
  const { error } = asBody(body);
  if (error === undefined || error === null) return undefined;
  return remoteError(error, head);
}

/** The error that a failed answer describes, whatever form its body has. */
export function errorFrom(
  text: string,
  head: AnswerHead,
  title: string = titleOf(head),
): RemoteError {
  const body = parse(text);
  const named = errorIn(body, head);
  if (named !== undefined) return named;
  if (typeof asBody(body).message === "string") return remoteError(body, head);
  const words = wordsOf(text);
  return errorOf(words === "" ? title : `${title}: ${words}`, head, {});
}

function titleOf({ status, statusText }: AnswerHead): string {
  return `HTTP ${status} ${statusText}`.trim();
}

/** Enough to recognise a proxy's page without printing all of it. */
const LONGEST_QUOTE = 200;

/** What a body says to people; of a page only its title. */
function wordsOf(text: string): string {
  const isPage = /^\s*(?:<!doctype html|<html|<head|<\?xml)/i.test(text);
  const [, title = ""] = isPage ? (/<title[^>]*>([^<]*)/i.exec(text) ?? []) : ["", text];
  return title.replaceAll(/\s+/g, " ").trim().slice(0, LONGEST_QUOTE);
}

/**
 * Three forms: JSON-RPC's, the same bare on the REST of 0.3, and on that of 1.0
 * a google.rpc.Status, whose code is the HTTP status and whose details say the kind.
 */
function remoteError(value: unknown, head: AnswerHead): RemoteError {
  const { code, message, data, details, status } = asBody(value);
  const words = typeof message === "string" ? message : JSON.stringify(value);
  if (typeof status !== "string" && !Array.isArray(details)) {
    return errorOf(words, head, { data, ...(typeof code === "number" && { code }) });
  }
  const reason = reasonIn(details) ?? reasonOfStatus(String(status), words);
  return errorOf(words, head, {
    data: details,
    ...(reason && { reason, code: ERRORS[reason].code }),
  });
}

interface ErrorContent {
  readonly code?: number;
  readonly reason?: ErrorReason;
  readonly data?: unknown;
}

function errorOf(words: string, head: AnswerHead, { code, data, reason }: ErrorContent) {
  const { status: httpStatus, headers } = head;
  return new RemoteError(withChallenge(words, head), {
    httpStatus,
    code,
    reason: reason ?? reasonOf({ httpStatus, code, details: data }),
    data,
    retryAfterMs: retryAfterMs(headers["retry-after"]),
  });
}

/** Who is refused wants to know what would be taken. */
function withChallenge(words: string, { status, headers }: AnswerHead): string {
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

/** How long a `Retry-After` asks to wait: seconds or a date (RFC 9110 §10.2.3). */
function retryAfterMs(value: string | undefined, nowMs = Date.now()): number | undefined {
  if (value === undefined) return undefined;
  if (/^\s*\d{1,9}\s*$/.test(value)) return Number(value) * 1000;
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : Math.max(0, time - nowMs);
}
