import type { RequestContext } from "@convoke/protocol";

/** How a lost connection is dealt with. */
export interface ReconnectOptions {
  /** For how long it is tried without anything new, in milliseconds; by default five minutes. */
  readonly forMs?: number | undefined;
  /**
   * Whether a message is sent again, with the same messageId, when nobody can tell whether
   * the agent got it. "safe", the default, does so only for agents that say in their card that
   * they take a message once; "always" is for agents of which you know it.
   */
  readonly resend?: "safe" | "always" | undefined;
}

export interface FollowOptions extends RequestContext {
  /** When it aborts, the reading ends with its reason. The task goes on. */
  readonly signal?: AbortSignal | undefined;
  /** False takes the first loss of the connection for the end. */
  readonly reconnect?: ReconnectOptions | false | undefined;
  /**
   * How long a stream may be silent, in milliseconds, before somebody looks whether it still
   * lives; by default 45 s. There is no limit to how long a task may take.
   */
  readonly silenceMs?: number | undefined;
  /** Where there is no stream: how long to wait before asking again, at first and at most. */
  readonly pollMs?: { readonly first: number; readonly most: number } | undefined;
  readonly onNotice?: OnNotice | undefined;
}

const DEFAULT_FOR_MS = 5 * 60_000;
const DEFAULT_SILENCE_MS = 45_000;
const DEFAULT_POLL_MS = { first: 1000, most: 10_000 };

/** The options with their defaults. */
export interface FollowSettings {
  /** `undefined` when nothing is tried again. */
  readonly reconnectForMs: number | undefined;
  readonly resendAlways: boolean;
  readonly silenceMs: number;
  readonly pollMs: { readonly first: number; readonly most: number };
  readonly onNotice: OnNotice;
  readonly context: RequestContext;
}

export function followSettings(options: FollowOptions): FollowSettings {
  const { reconnect = {}, silenceMs = DEFAULT_SILENCE_MS, pollMs = DEFAULT_POLL_MS } = options;
  const forMs = reconnect === false ? undefined : (reconnect.forMs ?? DEFAULT_FOR_MS);
  if (forMs !== undefined) refuseUnlessTime("reconnect.forMs", forMs);
  const resend = reconnect === false ? undefined : reconnect.resend;
  if (resend !== undefined && resend !== "safe" && resend !== "always") {
    throw new TypeError(`reconnect.resend must be "safe" or "always", not ${String(resend)}`);
  }
  refuseUnlessTime("silenceMs", silenceMs);
  refuseUnlessTime("pollMs.first", pollMs.first);
  refuseUnlessTime("pollMs.most", pollMs.most);
  return {
    reconnectForMs: forMs,
    resendAlways: resend === "always",
    silenceMs,
    pollMs,
    onNotice: options.onNotice ?? (() => undefined),
    context: { extensions: options.extensions, trace: options.trace, headers: options.headers },
  };
}

function refuseUnlessTime(name: string, value: number): void {
  if (typeof value === "number" && value >= 0) return;
  throw new TypeError(`${name} must be a number of milliseconds, 0 or more, not ${String(value)}`);
}

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
