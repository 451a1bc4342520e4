/** How an agent uses tools that its callers have. */
export interface ClientToolOptions {
  /** How long a call waits for the caller, in milliseconds; by default 300 000. */
  readonly timeoutMs?: number;
  /** Without an answer in time the model goes on and is told so, or the task fails; by default it goes on. */
  readonly afterwards?: "continue" | "fail";
}

/** The same with every default, checked. */
export type ClientToolSettings = Required<ClientToolOptions>;

const DEFAULT_TIMEOUT_MS = 300_000;

/** Nothing where the agent takes no such tools. */
export function clientToolSettings(
  options: ClientToolOptions | false = {},
): ClientToolSettings | undefined {
  if (options === false) return undefined;
  if (typeof options !== "object" || options === null) {
    throw new TypeError("clientTools must be false, or { timeoutMs, afterwards }");
  }
  const { timeoutMs = DEFAULT_TIMEOUT_MS, afterwards = "continue" } = options;
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1) {
    throw new TypeError(
      `clientTools.timeoutMs must be a whole number of milliseconds above 0, not ${String(timeoutMs)}`,
    );
  }
  if (afterwards !== "continue" && afterwards !== "fail") {
    throw new TypeError(
      `clientTools.afterwards must be "continue" or "fail", not ${JSON.stringify(afterwards)}`,
    );
  }
  return { timeoutMs, afterwards };
}
