/** Where the lines of a conversation come from. */
export interface LineSource {
  /** Whether a person sits there, who is told more and asked again. */
  readonly isPerson: boolean;
  /** The next line; none when there are no more. */
  next(prompt: string): Promise<string | undefined>;
  close(): void;
}
