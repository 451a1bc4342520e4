/** Structured details for logs. */
export type ErrorContext = Readonly<Record<string, unknown>>;

/** An argument, or an agent's card, is invalid. */
export class ValidationError extends Error {
  readonly code = "VALIDATION_ERROR";
  /** The HTTP status for a server that forwards this error. */
  readonly statusCode = 400;
  readonly context: ErrorContext;

  constructor(message: string, context: ErrorContext = {}, options?: ErrorOptions) {
    super(message, options);
    this.name = "ValidationError";
    this.context = context;
  }
}

/** A resource does not exist. */
export class NotFoundError extends Error {
  readonly code = "NOT_FOUND";
  /** The HTTP status for a server that forwards this error. */
  readonly statusCode = 404;
  readonly context: ErrorContext;

  constructor(resource: string, id?: string, context: ErrorContext = {}) {
    super(id === undefined ? `${resource} not found` : `${resource} ${id} not found`);
    this.name = "NotFoundError";
    this.context = context;
  }
}

/** So many tasks are running that no further one is accepted. */
export class TooManyTasksError extends Error {
  readonly code = "TOO_MANY_TASKS";
  /** The HTTP status for a server that forwards this error. */
  readonly statusCode = 503;
  readonly context: ErrorContext;

  constructor(limit: number) {
    super(`${limit} tasks are running; try again when one of them has ended`);
    this.name = "TooManyTasksError";
    this.context = { limit };
  }
}

export interface ExternalServiceErrorOptions extends ErrorOptions {
  /** The HTTP status of the response; `undefined` if there was none. */
  readonly status?: number | undefined;
}

/** Another service failed. */
export class ExternalServiceError extends Error {
  readonly code = "EXTERNAL_SERVICE_ERROR";
  /** The HTTP status for a server that forwards this error. */
  readonly statusCode = 502;
  readonly service: string;
  readonly status: number | undefined;
  readonly context: ErrorContext;

  constructor(service: string, message: string, options: ExternalServiceErrorOptions = {}) {
    const { status, ...rest } = options;
    super(`${service}: ${message}`, rest);
    this.name = "ExternalServiceError";
    this.service = service;
    this.status = status;
    this.context = { service, ...(status !== undefined && { status }) };
  }
}
