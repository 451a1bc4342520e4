import { openSqliteBackend } from "@convoke/backends/sqlite";
import type { Agent } from "@convoke/protocol";
import {
  type ServeOptions,
  type Server,
  createJsonLogger,
  serve as serveOn,
} from "@convoke/server";

/** How an agent is served. Everything has a default that is good on a laptop. */
export interface ServeAgentOptions extends Partial<Omit<ServeOptions, "openBackend">> {
  /** Where tasks are kept; by default `.convoke` in the current folder. "memory" keeps them nowhere. */
  readonly data?: string;
  /** The storage can work no more: the process should end, and say why. */
  readonly onFatal?: (error: Error) => void;
}

/** Memory is dearer than a disk, and what is in it is gone soon anyway. */
const MEMORY_RETENTION = { maxTasks: 1000, perCycle: 100 };

/** Serves an agent, with its tasks in SQLite. */
export function serve(agent: Agent, options: ServeAgentOptions = {}): Promise<Server> {
  const { data = ".convoke", onFatal, ...rest } = options;
  return serveOn(agent, {
    port: 3000,
    host: "127.0.0.1",
    logger: createJsonLogger("warn", (line) => process.stderr.write(line)),
    ...rest,
    retention: { ...(data === "memory" && MEMORY_RETENTION), ...rest.retention },
    openBackend: async ({ port }) => {
      if (data === "memory") {
        const { createMemoryBackend } = await import("@convoke/backends/memory");
        return createMemoryBackend();
      }
      return openSqliteBackend({ folder: data, holder: { port }, ...(onFatal && { onFatal }) });
    },
  });
}
