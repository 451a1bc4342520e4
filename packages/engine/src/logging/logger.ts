import { inspect } from "node:util";
import { randomBytes } from "node:crypto";

/** Structured fields of a log line. `error` can be anything that was thrown. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Receives the log of the server. Wrapping a pino logger takes four lines. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

const LEVELS = ["debug", "info", "warn", "error"] as const;

export type LogLevel = (typeof LEVELS)[number] | "silent";

/** Writes one JSON object per line. The server never logs bodies, headers or tokens. */
export function createJsonLogger(level: LogLevel, write: (line: string) => void): Logger {
  const least = level === "silent" ? LEVELS.length : LEVELS.indexOf(level);
  const method = (name: (typeof LEVELS)[number], rank: number): Logger["info"] =>
    rank < least
      ? () => undefined
      : (message, { error, ...fields } = {}) => {
          const time = new Date().toISOString();
          const line = { time, level: name, message, ...fields, ...errorField(error) };
          write(`${JSON.stringify(line).replaceAll(C1, escaped)}\n`);
        };
  const [debug, info, warn, error] = LEVELS.map(method) as [
    Logger["debug"],
    Logger["info"],
    Logger["warn"],
    Logger["error"],
  ];
  return { debug, info, warn, error };
}

/** Control characters that JSON leaves as they are. A terminal that shows the log would obey them. */
const C1 = /[\u007F-\u009F]/g;

function escaped(character: string): string {
  return `\\u00${character.charCodeAt(0).toString(16)}`;
}

/** The log is the only place where the text of an unknown error may appear. */
function errorField(error: unknown): LogFields {
  return error === undefined ? {} : { error: stackOf(error, MAX_CAUSES) };
}

/** Maximum length of the logged chain of causes, which may be circular. */
const MAX_CAUSES = 5;

/** Logs stacks only: other properties of an error may contain requests with their headers. */
function stackOf(error: unknown, causes: number): string {
  if (!(error instanceof Error)) return inspect(error);
  const stack = error.stack ?? error.message;
  if (error.cause === undefined || causes === 0) return stack;
  return `${stack}\ncaused by ${stackOf(error.cause, causes - 1)}`;
}

/** A short id that appears in both the response and the log, so that one leads to the other. */
export function newErrorId(): string {
  return randomBytes(6).toString("hex");
}
