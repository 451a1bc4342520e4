/** How one kind of error is represented on each binding. */
interface ErrorRow {
  readonly code: number;
  /** The HTTP status on the REST binding (1.0.1 §5.4). */
  readonly http: number;
  readonly grpc: string;
  readonly title: string;
  /** Statuses of 1.0.0 that differ from 1.0.1. */
  readonly patch0?: { readonly http?: number; readonly grpc?: string };
  /**
   * The request is rejected before JSON-RPC is involved (authentication, size, load), so the HTTP
   * status is kept; every other JSON-RPC error is sent with status 200.
   */
  readonly transport?: true;
  /** How long to wait before another attempt, in milliseconds, unless the error knows better. */
  readonly retryAfterMs?: number;
}

/** Every error that crosses the wire, with its code on JSON-RPC, REST and gRPC. */
export const ERRORS = {
  JsonParse: { code: -32700, http: 400, grpc: "INVALID_ARGUMENT", title: "Invalid JSON payload" },
  InvalidRequest: { code: -32600, http: 400, grpc: "INVALID_ARGUMENT", title: "Invalid Request" },
  MethodNotFound: { code: -32601, http: 404, grpc: "UNIMPLEMENTED", title: "Method not found" },
  InvalidParams: { code: -32602, http: 400, grpc: "INVALID_ARGUMENT", title: "Invalid parameters" },
  Internal: { code: -32603, http: 500, grpc: "INTERNAL", title: "Internal error" },
  TaskNotFound: { code: -32001, http: 404, grpc: "NOT_FOUND", title: "Task not found" },
  TaskNotCancelable: {
    code: -32002,
    http: 400,
    grpc: "FAILED_PRECONDITION",
    title: "Task cannot be canceled",
    patch0: { http: 409 },
  },
  PushNotificationNotSupported: {
    code: -32003,
    http: 400,
    grpc: "FAILED_PRECONDITION",
    title: "Push Notification is not supported",
    patch0: { grpc: "UNIMPLEMENTED" },
  },
  UnsupportedOperation: {
    code: -32004,
    http: 400,
    grpc: "FAILED_PRECONDITION",
    title: "This operation is not supported",
    patch0: { grpc: "UNIMPLEMENTED" },
  },
  ContentTypeNotSupported: {
    code: -32005,
    http: 400,
    grpc: "INVALID_ARGUMENT",
    title: "Incompatible content types",
    patch0: { http: 415 },
  },
  InvalidAgentResponse: {
    code: -32006,
    http: 500,
    grpc: "INTERNAL",
    title: "Invalid agent response",
    patch0: { http: 502 },
  },
  ExtendedAgentCardNotConfigured: {
    code: -32007,
    http: 400,
    grpc: "FAILED_PRECONDITION",
    title: "Authenticated Extended Card is not configured",
  },
  ExtensionSupportRequired: {
    code: -32008,
    http: 400,
    grpc: "FAILED_PRECONDITION",
    title: "Extension support is required",
  },
  VersionNotSupported: {
    code: -32009,
    http: 400,
    grpc: "FAILED_PRECONDITION",
    title: "Version not supported",
    patch0: { grpc: "UNIMPLEMENTED" },
  },
  Unauthenticated: {
    code: -32603,
    http: 401,
    grpc: "UNAUTHENTICATED",
    title: "Unauthorized",
    transport: true,
  },
  Forbidden: {
    code: -32603,
    http: 403,
    grpc: "PERMISSION_DENIED",
    title: "Forbidden",
    transport: true,
  },
  RequestTimeout: {
    code: -32600,
    http: 408,
    grpc: "DEADLINE_EXCEEDED",
    title: "Request timeout",
    transport: true,
  },
  PayloadTooLarge: {
    code: -32600,
    http: 413,
    grpc: "RESOURCE_EXHAUSTED",
    title: "Payload too large",
    transport: true,
  },
  UnsupportedMediaType: {
    code: -32005,
    http: 415,
    grpc: "INVALID_ARGUMENT",
    title: "Incompatible content types",
    transport: true,
  },
  TooManyRequests: {
    code: -32603,
    http: 429,
    grpc: "RESOURCE_EXHAUSTED",
    title: "Too many requests",
    transport: true,
    retryAfterMs: 1000,
  },
  Unavailable: {
    code: -32603,
    http: 503,
    grpc: "UNAVAILABLE",
    title: "Service unavailable",
    transport: true,
    retryAfterMs: 1000,
  },
} as const satisfies Record<string, ErrorRow>;

/** The editions of 1.0 that differ in their error statuses. */
export type SpecPatch = "1.0.0" | "1.0.1";

export type ErrorReason = keyof typeof ERRORS;

export interface A2AErrorOptions {
  /** The invalid request field, as the caller wrote it: `message.parts`. */
  readonly field?: string;
  /** Facts for programs: ids, limits, the method. Never secrets. */
  readonly details?: Readonly<Record<string, string>>;
  /** When another attempt makes sense, in milliseconds. Default: 1 s for errors that may pass, otherwise never. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/** An error that crosses the wire. Local misuse is a plain `Error` and never does. */
export class A2AError extends Error {
  readonly reason: ErrorReason;
  /** What went wrong, without the title of the error kind. */
  readonly detail: string;
  readonly field: string | undefined;
  readonly details: Readonly<Record<string, string>>;
  /** How long to wait before another attempt. Absent if one would fail as well. */
  readonly retryAfterMs: number | undefined;

  constructor(reason: ErrorReason, detail: string, options: A2AErrorOptions = {}) {
    const short = shortened(detail);
    super(`${ERRORS[reason].title}: ${short}`, { cause: options.cause });
    this.name = "A2AError";
    this.reason = reason;
    this.detail = short;
    this.field = options.field;
    this.details = Object.fromEntries(
      Object.entries(options.details ?? {}).map(([name, text]) => [name, shortened(text)]),
    );
    this.retryAfterMs = options.retryAfterMs ?? this.row.retryAfterMs;
  }

  get row(): ErrorRow {
    return ERRORS[this.reason];
  }

  /** The statuses in one edition of 1.0 (§5.4). */
  statuses(patch: SpecPatch): { readonly http: number; readonly grpc: string } {
    const { http, grpc, patch0 } = this.row;
    return patch === "1.0.0" ? { http, grpc, ...patch0 } : { http, grpc };
  }

  /** Checks a brand, so that two copies of this package agree. */
  static is(value: unknown): value is A2AError {
    return typeof value === "object" && value !== null && BRAND in value;
  }

  /**
   * Makes any thrown value safe to send. The message of an unknown error may contain secrets, so it
   * stays in `cause` for the log, and the caller gets an id to quote.
   */
  static from(thrown: unknown, errorId: string): A2AError {
    if (A2AError.is(thrown)) return thrown;
    return new A2AError("Internal", `something went wrong here, quote error ${errorId}`, {
      details: { errorId },
      cause: thrown,
    });
  }
}

const BRAND = Symbol.for("@convoke/protocol/A2AError");
Object.defineProperty(A2AError.prototype, BRAND, { value: true });

/**
 * The longest text of an error. Errors quote what the caller sent, such as an id, and a caller could
 * otherwise have megabytes repeated in responses and logs.
 */
const MAX_TEXT = 2000;

function shortened(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  return `${text.slice(0, MAX_TEXT).toWellFormed()}… (${text.length} characters)`;
}

/** A request field is invalid; `problem` says what it must be. */
export function invalidParams(field: string, problem: string): A2AError {
  return new A2AError("InvalidParams", `${field} ${problem}`, { field });
}

/** The names of the gRPC status codes, by number. */
export const GRPC_STATUS: readonly string[] = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
];
