export type ModelErrorKind =
  /** No connection, or it was lost in the middle. */
  | "unreachable"
  /** The provider has too much to do: 429, 503, 529. */
  | "overloaded"
  /** The key is missing, wrong, or may not use the model. */
  | "unauthorized"
  /** The provider refuses the request as it is, such as a transcript that is too long. */
  | "refused"
  /** The transcript is longer than the model can read. */
  | "too-long"
  /** The answer makes no sense. */
  | "unreadable";

/** A model could not answer. Its text is safe to show: it holds no key and no prompt. */
export class ModelError extends Error {
  readonly kind: ModelErrorKind;
  /** When the provider says that another attempt may work. */
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
}

/** A stream of parts ended, and the provider never said that the answer is complete. */
export class LostAnswerError extends Error {
  override readonly name = "LostAnswerError";
}
