import type { Agent } from "@convoke/protocol";
import {
  type AgentDataOptions,
  openAgentData,
  openHostData,
  registerAgent,
  retentionFor,
} from "@convoke/runtime/agent-data";
import {
  type AgentStorage,
  type MountOptions,
  type Mounted,
  type ServeOptions,
  type Server,
  mount as mountOn,
  serve as serveOn,
} from "@convoke/server";
import { type LogLevel, type Logger, createJsonLogger, createTextLogger } from "@convoke/engine";

type StorageOptions = Pick<AgentDataOptions, "data" | "database" | "nats" | "onFatal" | "source">;

/** How to serve agents. Every option has a default that suits local development. */
export interface ServeAgentOptions
  extends Partial<Omit<ServeOptions, "openBackend">>, StorageOptions {}

/** A running server of one or several agents. */
export interface AgentServer extends Server {
  /** The id under which the tasks of the agent at the root are stored. */
  readonly agentId: string;
  /** The data folder. Absent if nothing is stored on disk. */
  readonly folder?: string;
}

/**
 * Serves an agent on a port, with its tasks in SQLite. Several agents share the port and the storage:
 * each is at `/agents/<id>`, and the first one also at the root.
 *
 * @example
 * await using server = await serve([greeter, poet], { port: 0 });
 */
export async function serve(
  agent: Agent | readonly Agent[],
  options: ServeAgentOptions = {},
): Promise<AgentServer> {
  const { data, database, nats, onFatal, source, logger = defaultLogger(), ...rest } = options;
  const storage = { data, database, nats, onFatal, source, logger, tracing: rest.tracing };
  let folder: string | undefined;
  const server = await serveOn(agent, {
    port: 3000,
    host: "127.0.0.1",
    ...rest,
    logger,
    retention: retentionFor(database === undefined ? data : undefined, rest.retention),
    openBackend: async ({ port }, metrics) => {
      const opened = await openStorage(agent, { ...storage, metrics, holder: { port } });
      folder = opened.folder;
      return opened;
    },
  });
  const { id: agentId } = [...server.agents].find(({ isDefault }) => isDefault)!;
  const running = registered(agent, server);
  return { ...running, agentId, ...(folder !== undefined && { folder }) };
}

/** Several agents share one storage; a single agent has its own. */
async function openStorage(
  agent: Agent | readonly Agent[],
  options: AgentDataOptions,
): Promise<AgentStorage> {
  const storage = await (isList(agent) ? openHostData(options) : openAgentData(agent, options));
  const { folder } = storage;
  if (folder === undefined) return storage;
  return {
    ...storage,
    openRegistry: async () => (await import("@convoke/backends/sqlite")).openSqliteRegistry(folder),
  };
}

function isList(agent: Agent | readonly Agent[]): agent is readonly Agent[] {
  return Array.isArray(agent);
}

/** How to mount an agent in an app. Every option has a default that suits local development. */
export interface MountAgentOptions
  extends Partial<Omit<MountOptions, "openBackend">>, StorageOptions {}

/** Mounts one or several agents in an app that has its own port, with their tasks in SQLite. */
export async function mount(
  agent: Agent | readonly Agent[],
  options: MountAgentOptions = {},
): Promise<Mounted> {
  const { data, database, nats, onFatal, source, logger = defaultLogger(), ...rest } = options;
  const storage = { data, database, nats, onFatal, source, logger, tracing: rest.tracing };
  const mounted = await mountOn(agent, {
    ...rest,
    logger,
    retention: retentionFor(database === undefined ? data : undefined, rest.retention),
    openBackend: (metrics) => openStorage(agent, { ...storage, metrics }),
  });
  return registered(agent, mounted);
}

/** Lists the agents on the card of this process until they are closed. */
function registered<Running extends Mounted | Server>(
  agent: Agent | readonly Agent[],
  running: Running,
): Running {
  const unregister = (isList(agent) ? agent : [agent]).map(registerAgent);
  const close: Running["close"] = async (options) => {
    for (const leave of unregister) leave();
    await running.close(options);
  };
  return { ...running, close, [Symbol.asyncDispose]: () => close() };
}

/** Logs warnings and errors to stderr. */
function defaultLogger(): Logger {
  const { stderr } = process;
  return createLogger({ level: "warn", isForPeople: stderr.isTTY }, (text) => stderr.write(text));
}

/** A logger whose lines are text for people, or JSON for programs. */
export function createLogger(
  { level, isForPeople }: { readonly level: LogLevel; readonly isForPeople: boolean },
  write: (text: string) => void,
): Logger {
  return isForPeople ? createTextLogger(level, write) : createJsonLogger(level, write);
}
