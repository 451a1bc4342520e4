import type { ServerStores } from "@convoke/backends/postgres";
import type { Agent } from "@convoke/protocol";
import { isLoopbackHost } from "@convoke/protocol/internal";
import {
  type AgentDataOptions,
  openAgentData,
  openHostData,
  registerAgent,
  retentionFor,
} from "@convoke/runtime/agent-data";
import {
  type AgentStorage,
  type ConsoleFiles,
  type MountOptions,
  type Mounted,
  type ServeOptions,
  type Server,
  mount as mountOn,
  serve as serveOn,
} from "@convoke/server";
import {
  type Backend,
  type LogLevel,
  type Logger,
  type Replica,
  createJsonLogger,
  createTextLogger,
} from "@convoke/engine";

type StorageOptions = Pick<
  AgentDataOptions,
  "data" | "database" | "hostId" | "migrate" | "onFatal" | "source"
>;

interface ConsoleOption {
  /**
   * Serves the web console at `/console`, and the read API that it needs unless `readApi` is false.
   * Default: only if the server listens on loopback, because the console shows everything that was
   * said and done. An agent that is mounted in an app has none by default.
   */
  readonly console?: boolean;
}

/** How to serve agents. Every option has a default that suits local development. */
export interface ServeAgentOptions
  extends Partial<Omit<ServeOptions, "openBackend" | "console">>, StorageOptions, ConsoleOption {}

/** A running server of one or several agents. */
export interface AgentServer extends Server {
  /** The id under which the tasks of the agent at the root are stored. */
  readonly agentId: string;
  /** The data folder. Absent if nothing is stored on disk. */
  readonly folder?: string;
  /** The servers that share the storage, of which this is one. Absent if it is alone. */
  readonly replicas?: () => Promise<readonly Replica[]>;
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
  const { storage, logger, rest } = splitOptions(options);
  const { data, database } = storage;
  const { host = "127.0.0.1" } = options;
  let opened: AgentStorage | undefined;
  const server = await serveOn(agent, {
    port: 3000,
    ...rest,
    host,
    ...consoleParts(options.console ?? isLoopbackHost(host), rest),
    logger,
    retention: retentionFor(database === undefined ? data : undefined, rest.retention),
    openBackend: async ({ port }, metrics) => {
      opened = await openStorage(agent, { ...storage, metrics, holder: { port } });
      return opened;
    },
  });
  const { id: agentId } = [...server.agents].find(({ isDefault }) => isDefault)!;
  const running = registered(agent, server);
  const { folder, backend } = opened!;
  const { sharing } = backend;
  return {
    ...running,
    agentId,
    ...(folder !== undefined && { folder }),
    ...(sharing && { replicas: () => sharing.replicas() }),
  };
}

/** The options of the server that also apply to sub-agents. */
type SharedOption = "logger" | "tracing" | "files" | "retention";

/** Separates the options of the storage from those of the server. */
function splitOptions<
  Options extends StorageOptions & Pick<MountAgentOptions, SharedOption | "console">,
>(options: Options) {
  const { data, database, hostId, migrate, onFatal, source, console: _, ...rest } = options;
  const { logger = defaultLogger(), tracing, files, retention } = rest;
  const kept = { data, database, hostId, migrate, onFatal, source };
  return { storage: { ...kept, logger, tracing, files, retention }, logger, rest };
}

/** The console needs the read API, so switching it on elsewhere than on loopback also serves that. */
function consoleParts(
  isOn: boolean,
  { readApi }: Pick<MountOptions, "readApi">,
): Pick<MountOptions, "console" | "readApi"> {
  return isOn ? { console: lazyConsole(), readApi: readApi ?? true } : {};
}

/** Nothing of the console is loaded before the first request for it. */
function lazyConsole(): ConsoleFiles {
  let files: Promise<ConsoleFiles> | undefined;
  const open = (): Promise<ConsoleFiles> =>
    (files ??= import("@convoke/console").then(({ openConsoleFiles }) => openConsoleFiles()));
  return {
    page: async (basePath) => (await open()).page(basePath),
    asset: async (name) => (await open()).asset(name),
  };
}

/** Several agents share one storage; a single agent has its own. */
async function openStorage(
  agent: Agent | readonly Agent[],
  options: AgentDataOptions,
): Promise<AgentStorage> {
  const storage = await (isList(agent) ? openHostData(options) : openAgentData(agent, options));
  const { folder } = storage;
  const { database: url } = options;
  if (url !== undefined)
    return { ...storage, ...(await openStores(url, options, storage.backend)) };
  if (folder === undefined) return storage;
  const { oldRegistryIn } = await import("@convoke/backends/sqlite");
  const old = oldRegistryIn(folder);
  await nameOldRegistry(old, options);
  return { ...storage, erase: (owner) => old.erase(owner) };
}

/** What the servers on a database share in addition to their tasks. */
async function openStores(
  url: string,
  { hostId: host, logger }: Pick<AgentDataOptions, "hostId" | "logger">,
  backend: Backend,
): Promise<Partial<AgentStorage>> {
  let opened: ServerStores | undefined;
  try {
    const { openPostgresStores } = await import("@convoke/backends/postgres");
    opened = await openPostgresStores(host === undefined ? { url } : { url, host });
    const { oldRegistry, ...stores } = opened;
    await nameOldRegistry(oldRegistry, { logger });
    return { ...stores, erase: (owner) => oldRegistry.erase(owner) };
  } catch (error) {
    await opened?.close();
    await backend.close();
    throw error;
  }
}

type OldRegistry = ServerStores["oldRegistry"];

/** Says that entries of an earlier version are left, and how they are deleted. */
async function nameOldRegistry(
  old: OldRegistry,
  { logger }: Pick<AgentDataOptions, "logger">,
): Promise<void> {
  const found = await old.find();
  if (found === undefined) return;
  logger.warn("the registry of agents was removed, and nothing reads its entries any more", {
    ...found,
  });
}

function isList(agent: Agent | readonly Agent[]): agent is readonly Agent[] {
  return Array.isArray(agent);
}

/** How to mount an agent in an app. Every option has a default that suits local development. */
export interface MountAgentOptions
  extends Partial<Omit<MountOptions, "openBackend" | "console">>, StorageOptions, ConsoleOption {}

/** Mounts one or several agents in an app that has its own port, with their tasks in SQLite. */
export async function mount(
  agent: Agent | readonly Agent[],
  options: MountAgentOptions = {},
): Promise<Mounted> {
  const { storage, logger, rest } = splitOptions(options);
  const { data, database } = storage;
  const mounted = await mountOn(agent, {
    ...rest,
    ...consoleParts(options.console ?? false, rest),
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
