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
  if (error === undefined) return {};
  return { error: error instanceof Error ? (error.stack ?? error.message) : inspect(error) };
}
