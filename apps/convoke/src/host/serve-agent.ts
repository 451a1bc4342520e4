import type { Agent, LocalAgent } from "@convoke/protocol";
import {
  type MountOptions,
  type Mounted,
  type ServeOptions,
  type Server,
  mount as mountOn,
  serve as serveOn,
} from "@convoke/server";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import {
  type Backend,
  type Logger,
  type RetentionOptions,
  createJsonLogger,
  startLocalAgent,
} from "@convoke/engine";
import { join, resolve } from "node:path";
import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";

/** How to serve an agent. Every option has a default that suits local development. */
export interface ServeAgentOptions
  extends Partial<Omit<ServeOptions, "openBackend">>, DataOptions {}

/** Serves an agent on a port, with its tasks in SQLite. */
export function serve(agent: Agent, options: ServeAgentOptions = {}): Promise<Server> {
  const { data, onFatal, logger = defaultLogger(), ...rest } = options;
  return serveOn(agent, {
    port: 3000,
    host: "127.0.0.1",
    ...rest,
    logger,
    retention: retentionFor(data, rest.retention),
    openBackend: ({ port }) => openData(agent, { data, onFatal, logger }, { port }),
  });
}

/** How to mount an agent in an app. Every option has a default that suits local development. */
export interface MountAgentOptions
  extends Partial<Omit<MountOptions, "openBackend">>, DataOptions {}

/** Mounts an agent in an app that has its own port, with its tasks in SQLite. */
export function mount(agent: Agent, options: MountAgentOptions = {}): Promise<Mounted> {
  const { data, onFatal, logger = defaultLogger(), ...rest } = options;
  return mountOn(agent, {
    ...rest,
    logger,
    retention: retentionFor(data, rest.retention),
    openBackend: () => openData(agent, { data, onFatal, logger }),
  });
}

/** Where the tasks of an agent are stored. */
interface DataOptions {
  /** The folder of the SQLite database. Default: `.convoke` in the current folder. "memory" stores nothing on disk. */
  readonly data?: string | undefined;
  /** Called if the storage fails for good. The process should exit with the error. */
  readonly onFatal?: ((error: Error) => void) | undefined;
}

interface LoggedDataOptions extends DataOptions {
  readonly logger: Logger;
}

/**
 * Opens the storage of an agent and prepares the agent with it.
 *
 * @param holder details about this process, for the error of a second one that opens the same folder
 */
async function openData(
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
): Promise<LocalAgent> {
  const own = data === "memory" ? data : join(data, "agents", name);
  const backend = await openData(agent, { ...rest, data: own });
  return startLocalAgent({ agent, backend, logger: rest.logger, retention: retentionFor(own) });
}

/** Fewer tasks than on disk: memory is scarcer, and lost at the next restart anyway. */
const MEMORY_RETENTION = { maxTasks: 1000, perCycle: 100 };

/** The retention of finished tasks in that storage. The options override the defaults. */
function retentionFor(
  data: string | undefined,
  options: Partial<RetentionOptions> = {},
): Partial<RetentionOptions> {
  return { ...(data === "memory" && MEMORY_RETENTION), ...options };
}

/** Logs warnings and errors to stderr. */
function defaultLogger(): Logger {
  return createJsonLogger("warn", (line) => process.stderr.write(line));
}

const ID = /^[0-9a-f-]{36}$/;

const FILE = "agent-id";

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
