import { RemoteError } from "./errors.ts";

interface ErrorBody {
  readonly error?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly data?: unknown;
}

/**
 * The error in a parsed body, or `undefined` when it holds none. Servers write
 * `{ error: { code, message } }`, and in `event: error` frames also the bare object.
 */
export function errorIn(body: unknown, httpStatus: number): RemoteError | undefined {
  const { error } = asBody(body);
  if (error === undefined || error === null) return undefined;
  return remoteError(error, httpStatus);
}

/** The error that a failed answer describes, whatever form its body has. */
export function errorFrom(text: string, httpStatus: number, title: string): RemoteError {
  const body = parse(text);
  const named = errorIn(body, httpStatus);
  if (named !== undefined) return named;
  if (typeof asBody(body).message === "string") return remoteError(body, httpStatus);
  const words = text.trim().slice(0, LONGEST_QUOTE);
  return new RemoteError(words === "" ? title : `${title}: ${words}`, { httpStatus });
}

/** Enough to recognise a proxy's page without printing all of it. */
const LONGEST_QUOTE = 200;

function remoteError(value: unknown, httpStatus: number): RemoteError {
  const { code, message, data } = asBody(value);
  return new RemoteError(typeof message === "string" ? message : JSON.stringify(value), {
    httpStatus,
    code: typeof code === "number" ? code : undefined,
    data,
  });
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
