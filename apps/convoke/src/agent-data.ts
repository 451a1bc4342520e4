import { openSqliteBackend } from "@convoke/backends/sqlite";
import type { Agent } from "@convoke/protocol";
import {
  type Backend,
  type Logger,
  type RetentionOptions,
  createJsonLogger,
} from "@convoke/server";
import { resolve } from "node:path";

/** Where an agent keeps its tasks. */
export interface DataOptions {
  /** Where tasks are kept; by default `.convoke` in the current folder. "memory" keeps them nowhere. */
  readonly data?: string | undefined;
  /** The storage can work no more: the process should end, and say why. */
  readonly onFatal?: ((error: Error) => void) | undefined;
}

/** Memory is dearer than a disk, and what is in it is gone soon anyway. */
const MEMORY_RETENTION = { maxTasks: 1000, perCycle: 100 };

/**
 * Opens the storage for an agent, which is told where that is.
 *
 * @param holder what the message of a second process tells about this one
 */
export async function openData(
  agent: Agent,
  { data = ".convoke", onFatal, logger }: DataOptions & { readonly logger: Logger },
  holder: { readonly port?: number } = {},
): Promise<Backend> {
  agent.prepare?.({ logger, ...(data !== "memory" && { folder: resolve(data) }) });
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
