import { openSqliteBackend } from "@convoke/backends/sqlite";
import {
  type Backend,
  type Logger,
  type RetentionOptions,
  createJsonLogger,
} from "@convoke/server";

/** Where an agent keeps its tasks. */
export interface DataOptions {
  /** Where tasks are kept; by default `.convoke` in the current folder. "memory" keeps them nowhere. */
  readonly data?: string | undefined;
  /** The storage can work no more: the process should end, and say why. */
  readonly onFatal?: ((error: Error) => void) | undefined;
}

/** Memory is dearer than a disk, and what is in it is gone soon anyway. */
const MEMORY_RETENTION = { maxTasks: 1000, perCycle: 100 };

/** @param holder what the message of a second process tells about this one */
export async function openData(
  { data = ".convoke", onFatal }: DataOptions,
  holder: { readonly port?: number } = {},
): Promise<Backend> {
  if (data === "memory") {
    const { createMemoryBackend } = await import("@convoke/backends/memory");
    return createMemoryBackend();
  }
  return openSqliteBackend({ folder: data, holder, ...(onFatal && { onFatal }) });
}

/** How long ended tasks are kept there, unless the options say otherwise. */
export function retentionFor(
  data: string | undefined,
  options: Partial<RetentionOptions> = {},
): Partial<RetentionOptions> {
  return { ...(data === "memory" && MEMORY_RETENTION), ...options };
}

/** Warnings and errors, where a terminal shows them. */
export function defaultLogger(): Logger {
  return createJsonLogger("warn", (line) => process.stderr.write(line));
}
