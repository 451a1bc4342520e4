/**
 * What one caller or one agent may use of the server (G14). Each limit is an
 * option, and whoever reaches one is told its name.
 */
export interface Limits {
  /** Bytes of a request. */
  readonly bodyBytes: number;
  /** Parts of a message. */
  readonly parts: number;
  /** Characters of one text part of a message. */
  readonly textLength: number;
  /** Messages in the history of a task. */
  readonly history: number;
  /** Artifacts of a task. */
  readonly artifacts: number;
  /** Characters of all artifacts of a task, as they are stored. */
  readonly artifactLength: number;
  /** Events in the log of a task. */
  readonly events: number;
  /** Tasks of one owner that have not ended. */
  readonly openTasks: number;
  /** Streams that are open on one task. */
  readonly streams: number;
  /** Bytes of the tasks on one page of a list, which has at least one task whatever its size. */
  readonly pageBytes: number;
}

export const DEFAULT_LIMITS: Limits = {
  // A few photographs in base64, and far from a danger.
  bodyBytes: 10 * 1024 * 1024,
  parts: 1000,
  textLength: 2_000_000,
  history: 10_000,
  artifacts: 1000,
  artifactLength: 64 * 1024 * 1024,
  events: 1_000_000,
  openTasks: 20_000,
  streams: 10_000,
  // A hundred tasks of 80 KB; a page is in memory several times while it is written.
  pageBytes: 8 * 1024 * 1024,
};

/** An agent used more than its task may. The task fails, and says which limit it was. */
export class LimitError extends Error {
  override readonly name = "LimitError";
  readonly limit: keyof Limits;

  constructor(limit: keyof Limits, most: number) {
    super(`${limit} is limited to ${most}`);
    this.limit = limit;
  }
}

/** The limits of a server. A limit that makes no sense is a mistake of who started it. */
export function limitsOf(options: Partial<Limits> = {}): Limits {
  const limits = { ...DEFAULT_LIMITS, ...options };
  for (const [name, most] of Object.entries(limits)) {
    if (!Number.isInteger(most) || most < 1) {
      throw new RangeError(`limits.${name} must be a whole number above 0, not ${most}`);
    }
  }
  return limits;
}
