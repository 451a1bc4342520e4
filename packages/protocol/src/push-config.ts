/** Where updates of a task are pushed to, as a caller gives it (0.3 §6.8, 1.0 §4.3.1). */
export interface PushTarget {
  /** Tells the configs of one task apart; the server chooses one where it is absent. */
  readonly id?: string;
  readonly url: string;
  /** Sent back with each notification, so that the receiver knows it was asked for. */
  readonly token?: string;
  readonly authentication?: PushAuthentication;
  /** Further headers of each notification. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface PushAuthentication {
  /** HTTP authentication schemes, the one to use first. 1.0 has exactly one. */
  readonly schemes: readonly string[];
  readonly credentials?: string;
}

/** A target that a task has. */
export interface PushConfig extends PushTarget {
  readonly taskId: string;
  readonly id: string;
}
