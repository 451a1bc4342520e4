/** A stream of parts ended, and the provider never said that the answer is complete. */
export class LostAnswerError extends Error {
  override readonly name = "LostAnswerError";
}
