import { inspect } from "node:util";

/** Facts beside a log line. `error` may be anything that was thrown. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Where the server writes what happens. A pino logger can be wrapped in four lines. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

const LEVELS = ["debug", "info", "warn", "error"] as const;

export type LogLevel = (typeof LEVELS)[number] | "silent";

/** One JSON object per line. Bodies, headers and tokens are never passed to it. */
export function createJsonLogger(level: LogLevel, write: (line: string) => void): Logger {
  const least = level === "silent" ? LEVELS.length : LEVELS.indexOf(level);
  const method = (name: (typeof LEVELS)[number], rank: number): Logger["info"] =>
    rank < least
      ? () => undefined
      : (message, { error, ...fields } = {}) => {
          const time = new Date().toISOString();
          write(`${JSON.stringify({ time, level: name, message, ...fields, ...told(error) })}\n`);
        };
  const [debug, info, warn, error] = LEVELS.map(method) as [
    Logger["debug"],
    Logger["info"],
    Logger["warn"],
    Logger["error"],
  ];
  return { debug, info, warn, error };
}

/** The stack stays in the log: it is the only place where the text of an unknown error may go. */
function told(error: unknown): LogFields {
  return error === undefined ? {} : { error: stackOf(error, MAX_CAUSES) };
}

/** How far back causes are told; they may go round in a circle. */
const MAX_CAUSES = 5;

/** Of an error nothing but stacks: its other properties may hold requests with their headers. */
function stackOf(error: unknown, causes: number): string {
  if (!(error instanceof Error)) return inspect(error);
  const stack = error.stack ?? error.message;
  if (error.cause === undefined || causes === 0) return stack;
  return `${stack}\ncaused by ${stackOf(error.cause, causes - 1)}`;
}
