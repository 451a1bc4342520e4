import type { RequestContext } from "@convoke/protocol";

/** What to do when the connection is lost. */
export interface ReconnectOptions {
  /** Give up after this many milliseconds without progress; default 5 minutes. */
  readonly forMs?: number | undefined;
  /**
   * Whether to resend a message, with the same messageId, if it may have arrived. "safe", the
   * default, resends it only to agents that deduplicate messages (`remote.deduplicates`); "always" is
   * for agents that you know to do so.
   */
  readonly resend?: "safe" | "always" | undefined;
}

export interface FollowOptions extends RequestContext {
  /** If it aborts, reading ends with its reason. The task continues. */
  readonly signal?: AbortSignal | undefined;
  /** False ends the run when the connection is lost for the first time. Default: reconnect for 5 minutes. */
  readonly reconnect?: ReconnectOptions | false | undefined;
  /**
   * Idle timeout of a stream, in milliseconds; default 45 s. After it the client checks whether the
   * stream is still alive. There is no limit to how long a task may take.
   */
  readonly idleTimeoutMs?: number | undefined;
  /** Polling interval for agents that do not stream: the first and the longest wait. Default 1 s and 10 s. */
  readonly pollMs?: { readonly first: number; readonly most: number } | undefined;
  /** Called when the run reconnects, resumes, polls or replaces text. */
  readonly onNotice?: OnNotice | undefined;
}

const DEFAULT_FOR_MS = 5 * 60_000;
const DEFAULT_SILENCE_MS = 45_000;
const DEFAULT_POLL_MS = { first: 1000, most: 10_000 };

/** The options with their defaults. */
export interface FollowSettings {
  /** `undefined` if the client does not reconnect. */
  readonly reconnectForMs: number | undefined;
  readonly resendAlways: boolean;
  readonly idleTimeoutMs: number;
  readonly pollMs: { readonly first: number; readonly most: number };
  readonly onNotice: OnNotice;
  readonly context: RequestContext;
}

export function followSettings(options: FollowOptions): FollowSettings {
  const { reconnect = {}, idleTimeoutMs = DEFAULT_SILENCE_MS, pollMs = DEFAULT_POLL_MS } = options;
  const forMs = reconnect === false ? undefined : (reconnect.forMs ?? DEFAULT_FOR_MS);
  if (forMs !== undefined) checkMilliseconds("reconnect.forMs", forMs);
  const resend = reconnect === false ? undefined : reconnect.resend;
  if (resend !== undefined && resend !== "safe" && resend !== "always") {
    throw new TypeError(`reconnect.resend must be "safe" or "always", not ${String(resend)}`);
  }
  checkMilliseconds("idleTimeoutMs", idleTimeoutMs);
  checkMilliseconds("pollMs.first", pollMs.first);
  checkMilliseconds("pollMs.most", pollMs.most);
  return {
    reconnectForMs: forMs,
    resendAlways: resend === "always",
    idleTimeoutMs,
    pollMs,
    onNotice: options.onNotice ?? (() => undefined),
    context: { extensions: options.extensions, trace: options.trace, headers: options.headers },
  };
}

function checkMilliseconds(name: string, value: number): void {
  if (typeof value === "number" && value >= 0) return;
  throw new TypeError(`${name} must be a number of milliseconds, 0 or more, not ${String(value)}`);
}

/** What happens to a run in addition to its events. Each notice has a message for people. */
export type RunNotice =
  /** The connection was lost; the next attempt follows after `delayMs`. */
  | {
      readonly kind: "reconnecting";
      readonly message: string;
      readonly attempt: number;
      readonly delayMs: number;
      readonly error: unknown;
    }
  /** The stream continues exactly where it was cut. */
  | { readonly kind: "resumed"; readonly message: string; readonly lastEventId: string }
  /**
   * The agent could not replay the missed events. The whole task came instead, as an event of kind
   * "task" that replaces everything before it.
   */
  | { readonly kind: "resynced"; readonly message: string }
  /** The agent does not stream; its task is polled. */
  | { readonly kind: "polling"; readonly message: string }
  /** The agent sent something unreadable. The run resumes from the event before it. */
  | { readonly kind: "unreadable"; readonly message: string; readonly error: unknown };

type OnNotice = (notice: RunNotice) => void;
