import { inspect } from "node:util";
import { randomBytes } from "node:crypto";
import { oneLine, printable } from "@convoke/protocol/internal";

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
  return createLogger(level, (entry) => {
    const { time, level: name, message, fields, error } = entry;
    const line = { time, level: name, message, ...fields, ...errorField(error) };
    write(`${JSON.stringify(line).replaceAll(C1, escaped)}\n`);
  });
}

/** Writes lines for people to read, for example on a terminal; errors follow on lines of their own. */
export function createTextLogger(level: LogLevel, write: (text: string) => void): Logger {
  return createLogger(level, ({ time, level: name, message, fields, error }) => {
    const facts = Object.entries(fields).map(([key, value]) => ` ${key}=${valueText(value)}`);
    const head = `${time.slice(11, 19)} ${name.toUpperCase().padEnd(5)} ${oneLine(message, MAX_TEXT)}`;
    const stack = error === undefined ? "" : `\n${indented(printable(stackOf(error, MAX_CAUSES)))}`;
    write(`${head}${facts.join("")}${stack}\n`);
  });
}

/** More than a message or a value of ours has; remote text in it may be longer. */
const MAX_TEXT = 1000;

function valueText(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  const line = oneLine(text, MAX_TEXT);
  return /^[^\s"=]+$/.test(line) ? line : JSON.stringify(line);
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, "    ");
}

interface LogEntry {
  readonly time: string;
  readonly level: (typeof LEVELS)[number];
  readonly message: string;
  readonly fields: LogFields;
  /** What was thrown, if anything. */
  readonly error: unknown;
}

function createLogger(level: LogLevel, write: (entry: LogEntry) => void): Logger {
  const least = level === "silent" ? LEVELS.length : LEVELS.indexOf(level);
  const method = (name: (typeof LEVELS)[number], rank: number): Logger["info"] =>
    rank < least
      ? () => undefined
      : (message, { error, ...fields } = {}) =>
          write({ time: new Date().toISOString(), level: name, message, fields, error });
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
