import { type Backend, type Logger, type RetentionOptions, startLocalAgent } from "@convoke/engine";
import type { Agent, LocalAgent } from "@convoke/protocol";
import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

/** Where the tasks of an agent are stored. */
export interface DataOptions {
  /** The folder of the SQLite database. Default: `.convoke` in the current folder. "memory" stores nothing on disk. */
  readonly data?: string | undefined;
  /** Called if the storage fails for good. The process should exit with the error. */
  readonly onFatal?: ((error: Error) => void) | undefined;
}

export interface AgentDataOptions extends DataOptions {
  readonly logger: Logger;
  /** Details about this process, for the error of a second one that opens the same folder. */
  readonly holder?: { readonly port?: number };
}

/** Opens the storage of an agent and prepares the agent with it: its sub-agents keep their tasks below. */
export async function openAgentData(agent: Agent, options: AgentDataOptions): Promise<Backend> {
  const { data = ".convoke", onFatal, logger, holder = {} } = options;
  const folder = data === "memory" ? undefined : resolve(data);
  const backend = await openBackend(folder, { holder, ...(onFatal && { onFatal }) });
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

interface SqliteOptions {
  readonly holder: { readonly port?: number };
  readonly onFatal?: (error: Error) => void;
}

/** Each kind of storage is loaded when it is needed: an agent in memory starts no storage thread. */
async function openBackend(folder: string | undefined, options: SqliteOptions): Promise<Backend> {
  if (folder === undefined) {
    const { createMemoryBackend } = await import("@convoke/engine/memory");
    return createMemoryBackend();
  }
  const { openSqliteBackend } = await import("@convoke/backends/sqlite");
  return openSqliteBackend({ folder, ...options });
}

/** Runs a sub-agent in process, with its tasks in a folder below that of its parent. */
async function runBeside(
  name: string,
  agent: Agent,
  { data = ".convoke", ...rest }: AgentDataOptions,
): Promise<LocalAgent> {
  const own = data === "memory" ? data : join(data, "agents", name);
  const backend = await openAgentData(agent, { ...rest, data: own });
  return startLocalAgent({ agent, backend, logger: rest.logger, retention: retentionFor(own) });
}

/** Fewer tasks than on disk: memory is scarcer, and lost at the next restart anyway. */
const MEMORY_RETENTION = { maxTasks: 1000, perCycle: 100 };

/** The retention of finished tasks in that storage. The options override the defaults. */
export function retentionFor(
  data: string | undefined,
  options: Partial<RetentionOptions> = {},
): Partial<RetentionOptions> {
  return { ...(data === "memory" && MEMORY_RETENTION), ...options };
}

const ID = /^[0-9a-f-]{36}$/;

const ID_FILE = "agent-id";

/**
 * A stable id of the agent: its name and a random id that is stored with its tasks. Without a
 * folder it is new each time. The folder must exist.
 */
export async function agentId(name: string, folder: string | undefined): Promise<string> {
  if (folder === undefined) return `${name}/${randomUUID()}`;
  const file = join(folder, ID_FILE);
  const kept = await readFile(file, "utf8").catch(() => "");
  if (ID.test(kept)) return `${name}/${kept}`;
  const created = randomUUID();
  await writeFile(file, created, { mode: 0o600 });
  return `${name}/${created}`;
}
