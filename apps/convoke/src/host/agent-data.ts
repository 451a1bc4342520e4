import { openSqliteBackend } from "@convoke/backends/sqlite";
import type { Agent, AgentBeside } from "@convoke/protocol";
import {
  type Backend,
  createJsonLogger,
  startBeside,
  type Logger,
  type RetentionOptions,
} from "@convoke/engine";
import { join, resolve } from "node:path";
import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";

const FILE = "agent-id";

const ID = /^[0-9a-f-]{36}$/;

/** Where the tasks of an agent are stored. */
export interface DataOptions {
  /** The folder of the SQLite database. Default: `.convoke` in the current folder. "memory" stores nothing on disk. */
  readonly data?: string | undefined;
  /** Called if the storage fails for good. The process should exit with the error. */
  readonly onFatal?: ((error: Error) => void) | undefined;
}

interface LoggedDataOptions extends DataOptions {
  readonly logger: Logger;
}

/** Fewer tasks than on disk: memory is scarcer, and lost at the next restart anyway. */
const MEMORY_RETENTION = { maxTasks: 1000, perCycle: 100 };

/**
 * Opens the storage of an agent and prepares the agent with it.
 *
 * @param holder details about this process, for the error of a second one that opens the same folder
 */
export async function openData(
  agent: Agent,
  options: LoggedDataOptions,
  holder: { readonly port?: number } = {},
): Promise<Backend> {
  const { data = ".convoke", onFatal, logger } = options;
  const folder = data === "memory" ? undefined : resolve(data);
  const backend = await openBackend(data, { holder, ...(onFatal && { onFatal }) });
  try {
    agent.prepare?.({
      id: await agentId(agent.info.name, folder),
      logger,
      ...(folder !== undefined && { folder }),
      runBeside: (name, other) => runBeside(name, other, { data, onFatal, logger }),
    });
    return backend;
  } catch (error) {
    await backend.close();
    throw error;
  }
}

async function openBackend(
  data: string,
  options: Omit<Parameters<typeof openSqliteBackend>[0], "folder">,
): Promise<Backend> {
  if (data !== "memory") return openSqliteBackend({ folder: data, ...options });
  const { createMemoryBackend } = await import("@convoke/engine/memory");
  return createMemoryBackend();
}

/** Runs a sub-agent in process, with its tasks in a folder below that of its parent. */
async function runBeside(
  name: string,
  agent: Agent,
  { data = ".convoke", ...rest }: LoggedDataOptions,
): Promise<AgentBeside> {
  const own = data === "memory" ? data : join(data, "agents", name);
  const backend = await openData(agent, { ...rest, data: own });
  return startBeside({ agent, backend, logger: rest.logger, retention: retentionFor(own) });
}

/** The retention of finished tasks in that storage. The options override the defaults. */
export function retentionFor(
  data: string | undefined,
  options: Partial<RetentionOptions> = {},
): Partial<RetentionOptions> {
  return { ...(data === "memory" && MEMORY_RETENTION), ...options };
}

/** Logs warnings and errors to stderr. */
export function defaultLogger(): Logger {
  return createJsonLogger("warn", (line) => process.stderr.write(line));
}

/**
 * A stable id of the agent: its name and a random id that is stored with its tasks. Without a
 * folder it is new each time. The folder must exist.
 */
export async function agentId(name: string, folder: string | undefined): Promise<string> {
  if (folder === undefined) return `${name}/${randomUUID()}`;
  const file = join(folder, FILE);
  const kept = await readFile(file, "utf8").catch(() => "");
  if (ID.test(kept)) return `${name}/${kept}`;
  const created = randomUUID();
  await writeFile(file, created, { mode: 0o600 });
  return `${name}/${created}`;
}
