/** What a run tells of itself besides its events. Each kind has a sentence for people. */
export type RunNotice =
  /** The connection was lost, and another attempt comes after `delayMs`. */
  | {
      readonly kind: "reconnecting";
      readonly message: string;
      readonly attempt: number;
      readonly delayMs: number;
      readonly error: unknown;
    }
  /** The stream goes on exactly where it was cut. */
  | { readonly kind: "resumed"; readonly message: string; readonly lastEventId: string }
  /**
   * The agent could not say what was missed. The whole task came instead, as an
   * event of kind "task" that replaces what was there before.
   */
  | { readonly kind: "resynced"; readonly message: string }
  /** The agent offers no stream: it is asked again and again how the task stands. */
  | { readonly kind: "polling"; readonly message: string }
  /** Something came that cannot be read. The run goes on before it. */
  | { readonly kind: "unreadable"; readonly message: string; readonly error: unknown }
  /**
   * What `run.text` gave from character `from` on does not count any more; what
   * it gives next stands in its place.
   */
  | { readonly kind: "rewritten"; readonly message: string; readonly from: number };

export type OnNotice = (notice: RunNotice) => void;
