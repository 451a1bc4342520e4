/** Facts for a log that do not fit into one sentence. */
export type ErrorContext = Readonly<Record<string, unknown>>;

/** What was given, or what an agent shows, is not what it must be. */
export class ValidationError extends Error {
  readonly code = "VALIDATION_ERROR";
  /** The HTTP status of a server that passes this error on. */
  readonly statusCode = 400;
  readonly context: ErrorContext;

  constructor(message: string, context: ErrorContext = {}, options?: ErrorOptions) {
    super(message, options);
    this.name = "ValidationError";
    this.context = context;
  }
}

/** There is no such thing here. */
export class NotFoundError extends Error {
  readonly code = "NOT_FOUND";
  /** The HTTP status of a server that passes this error on. */
  readonly statusCode = 404;
  readonly context: ErrorContext;

  constructor(resource: string, id?: string, context: ErrorContext = {}) {
    super(id === undefined ? `${resource} not found` : `${resource} ${id} not found`);
    this.name = "NotFoundError";
    this.context = context;
  }
}

export interface ExternalServiceErrorOptions extends ErrorOptions {
  /** The HTTP status that the other service answered with; none when no answer came. */
  readonly status?: number | undefined;
}

/** Another service does not do what it should. */
export class ExternalServiceError extends Error {
  readonly code = "EXTERNAL_SERVICE_ERROR";
  /** The HTTP status of a server that passes this error on. */
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
