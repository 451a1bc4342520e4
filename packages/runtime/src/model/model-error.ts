export type ModelErrorKind =
  /** The connection failed or was lost mid-answer. */
  | "unreachable"
  /** The provider is overloaded: 429, 503 or 529. */
  | "overloaded"
  /** The key is missing, invalid, or has no access to the model. */
  | "unauthorized"
  /** The provider does not offer the model, or the account has no credit. */
  | "unavailable"
  /** The provider rejects the request as it is; retrying does not help. */
  | "refused"
  /** The transcript exceeds the model's context window. */
  | "too-long"
  /** The answer could not be parsed. */
  | "unreadable";

/** A model could not answer. The message is safe to show: it contains no key and no prompt. */
export class ModelError extends Error {
  readonly kind: ModelErrorKind;
  /** The delay after which the provider says a retry may succeed. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: ModelErrorKind,
    message: string,
    options: ErrorOptions & { readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(message, options);
    this.name = "ModelError";
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** Whether the same request may succeed later. */
  get isPassing(): boolean {
    return this.kind === "unreachable" || this.kind === "overloaded";
  }

  /** Whether another model may answer the same request now. */
  get isCurableElsewhere(): boolean {
    return this.isPassing || this.kind === "unauthorized" || this.kind === "unavailable";
  }
}

/** The stream ended, but the provider never reported that the answer is complete. */
export class LostAnswerError extends Error {
  override readonly name = "LostAnswerError";
}
