import {
  type AgentKey,
  type Backend,
  type FileOptions,
  type Logger,
  MEMORY_RETENTION,
  type RetentionOptions,
  agentKey,
  closeAgentsAndBackend,
  startLocalAgent,
} from "@convoke/engine";
import type { Agent, LocalAgent, Metrics, TracingOptions } from "@convoke/protocol";
import { agentIdFrom } from "@convoke/protocol/internal";
import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import {
  type AgentRecord,
  findAgentRecord,
  readAgentRecords,
  readAgentRecordsBelow,
  writeAgentRecord,
} from "./agent-record.ts";

export { readAgentRecords } from "./agent-record.ts";
export { registerAgent } from "./registered-agents.ts";

/** The options about a database. */
type DatabaseOption = "database" | "hostId" | "migrate";

/** The options that sub-agents have in common with the agent that runs them. */
type SharedOption = "logger" | "metrics" | "tracing" | "files" | "retention";

/** Where the tasks of an agent are stored. */
export interface DataOptions {
  /**
   * The folder of the SQLite database. "memory" stores nothing on disk. Default: `.convoke/<id>` in
   * the current folder, with the id of the agent, so that each agent has a folder of its own.
   */
  readonly data?: string | undefined;
  /**
   * The address of a Postgres database that holds the tasks instead, such as
   * `postgres://user@host/database`. Any number of processes can use it at the same time. `data` is
   * then the folder for what belongs to this process alone, such as records of its child processes;
   * without it there is none.
   */
  readonly database?: string | undefined;
  /**
   * Identifies this machine among those that use the database: tasks of agents with `local` are
   * continued only by processes with the same id. Default: the host name.
   */
  readonly hostId?: string | undefined;
  /**
   * Whether missing tables of the database are created and missing migrations applied. Default true.
   * If false, a database that lacks some is refused: an administrator runs `convoke database migrate`.
   */
  readonly migrate?: boolean | undefined;
  /**
   * Called if the storage fails for good: its thread died, the database is damaged, or its folder was
   * deleted. The process should exit with the error. Default: it is logged.
   */
  readonly onFatal?: ((error: Error) => void) | undefined;
}

export interface AgentDataOptions extends DataOptions {
  readonly logger: Logger;
  /** Receives measurements of the storage, of the agent and of its sub-agents. Default: nothing is measured. */
  readonly metrics?: Metrics | undefined;
  /** What spans of its sub-agents contain. */
  readonly tracing?: TracingOptions | undefined;
  /**
   * Where the large files of the agent are kept. Those of its sub-agents are next to their tasks, or
   * if the storage has no place for them, as a database, in a store of their own below this one.
   */
  readonly files?: FileOptions | undefined;
  /** When ended tasks of its sub-agents are removed. Default: as in a server that does not set it. */
  readonly retention?: Partial<RetentionOptions> | undefined;
  /** Details about this process, for the error of a second one that opens the same folder. */
  readonly holder?: { readonly port?: number };
  /**
   * The file that exports the agent, and no other. An agent without an id is recognized by it when
   * its name has changed.
   */
  readonly source?: string | undefined;
}

/** The storage of an agent, and which of its tasks belong to the agent. */
export interface AgentData {
  readonly backend: Backend;
  readonly key: AgentKey;
  /** Absent if nothing is stored on disk. */
  readonly folder?: string;
}

/** Opens the storage of an agent and prepares the agent with it: its sub-agents keep their tasks below. */
export async function openAgentData(agent: Agent, options: AgentDataOptions): Promise<AgentData> {
  const onFatal = options.onFatal ?? logFatal(options.logger);
  const opened = await openOwnStorage(agent, { ...options, onFatal });
  const { backend, key, folder } = opened;
  try {
    await prepareAgent(agent, { ...options, id: key.id, backend, folder, onFatal });
    return opened;
  } catch (error) {
    await backend.close();
    throw error;
  }
}

async function openOwnStorage(
  agent: Agent,
  options: AgentDataOptions & Pick<SqliteOptions, "onFatal">,
): Promise<AgentData> {
  const { data, database, logger, metrics, holder = {}, source, onFatal } = options;
  if (database !== undefined) {
    const folder = await processFolder(data);
    const backend = await openDatabase(database, options);
    return { backend, key: agentKey(agent), ...(folder !== undefined && { folder }) };
  }
  if (data === "memory") return { backend: await openMemory(), key: agentKey(agent) };
  return openFolder(agent, { data, logger, source }, { holder, onFatal, metrics });
}

/** The folder for what belongs to one process, if its tasks are in a database. */
async function processFolder(data: string | undefined): Promise<string | undefined> {
  if (data === undefined || data === "memory") return undefined;
  const folder = resolve(data);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/** The storage that several agents share. */
export interface HostData {
  readonly backend: Backend;
  /** Absent if nothing is stored on disk. */
  readonly folder?: string;
  /** Prepares an agent that uses it: the agent gets a folder of its own below. */
  readonly prepare: (agent: Agent) => Promise<void>;
}

/** Opens the storage of several agents, by default `.convoke/host` in the current folder. */
export async function openHostData(options: Omit<AgentDataOptions, "source">): Promise<HostData> {
  const { data, database, logger, metrics, holder = {} } = options;
  const onFatal = options.onFatal ?? logFatal(logger);
  const folder = await processFolder(database === undefined ? (data ?? HOST_FOLDER) : data);
  const backend = await (database !== undefined
    ? openDatabase(database, { ...options, onFatal })
    : folder === undefined
      ? openMemory()
      : openSqlite(folder, { holder, onFatal, metrics }));
  return {
    backend,
    ...(folder !== undefined && { folder }),
    prepare: async (agent) => {
      const { id } = agentKey(agent);
      const own = folder === undefined ? undefined : ownFolderIn(folder, id);
      if (own !== undefined) await mkdir(own, { recursive: true, mode: 0o700 });
      await prepareAgent(agent, { ...options, id, backend, folder: own, onFatal });
    },
  };
}

/** The folder of one of several agents: below the shared one, unless that was its own before. */
function ownFolderIn(folder: string, id: string): string {
  const isOwn = readAgentRecords(folder).some((record) => record.id === id);
  return isOwn ? folder : join(folder, "agents", id);
}

/** The folder in which every agent has its own, unless `data` names another one. */
const DEFAULT_ROOT = ".convoke";

/** The folder that several agents share, unless `data` names another one. */
export const HOST_FOLDER = join(DEFAULT_ROOT, "host");

function logFatal(logger: Logger): (error: Error) => void {
  return (error) => logger.error("the storage failed for good", { error });
}

/** Gives an agent its environment. */
async function prepareAgent(
  agent: Agent,
  facts: Pick<AgentDataOptions, SharedOption | DatabaseOption> & {
    readonly id: string;
    readonly backend: Backend;
    readonly folder: string | undefined;
    readonly onFatal: (error: Error) => void;
  },
): Promise<void> {
  const { id, folder, database, hostId, migrate, onFatal } = facts;
  const { logger, metrics, tracing, files, retention } = facts;
  const { sharing } = facts.backend;
  const place = {
    data: folder ?? "memory",
    ...(database !== undefined && { database, hostId, migrate }),
  };
  const shared = { onFatal, logger, metrics, tracing, files, retention };
  agent.prepare?.({
    id: `${id}/${database === undefined ? await instanceId(folder) : databaseId(database)}`,
    logger,
    ...(metrics && { metrics }),
    ...(folder !== undefined && { folder }),
    ...(sharing && { values: (collection: string) => sharing.values(`${id}/${collection}`) }),
    runBeside: (name, other) => runBeside(name, other, { ...place, ...shared }),
  });
}

interface SqliteOptions {
  readonly holder: { readonly port?: number };
  readonly onFatal: (error: Error) => void;
  readonly metrics: Metrics | undefined;
}

async function openFolder(
  agent: Agent,
  options: Pick<AgentDataOptions, "data" | "logger" | "source">,
  sqlite: SqliteOptions,
): Promise<AgentData & { readonly folder: string }> {
  const { data, source } = options;
  const own = data === undefined ? await ownFolder(agent, options) : undefined;
  const folder = own?.folder ?? resolve(data!);
  const backend = await openSqlite(folder, sqlite);
  try {
    // The folder is locked now, so the record does not change any more.
    const { id, names } = findAgentRecord(
      own === undefined ? agent : { ...own, info: agent.info },
      readAgentRecords(folder),
      source,
    );
    writeAgentRecord(folder, { id, names }, source);
    return { backend, key: { id, names }, folder };
  } catch (error) {
    await backend.close();
    throw error;
  }
}

/** Loaded when it is needed: an agent in memory starts no storage thread. */
async function openSqlite(folder: string, options: SqliteOptions): Promise<Backend> {
  const { openSqliteBackend } = await import("@convoke/backends/sqlite");
  return openSqliteBackend({ folder, ...options });
}

async function openDatabase(
  url: string,
  options: Pick<AgentDataOptions, DatabaseOption | "metrics" | "logger"> &
    Pick<SqliteOptions, "onFatal">,
): Promise<Backend> {
  const { openPostgresBackend } = await import("@convoke/backends/postgres");
  const { hostId, migrate, metrics, logger, onFatal } = options;
  const host = hostId !== undefined && { host: hostId };
  return openPostgresBackend({ url, migrate, metrics, logger, onFatal, ...host });
}

/** The same for all processes that use a database, whatever their user and password are. */
function databaseId(url: string): string {
  const { host, pathname, searchParams } = new URL(url);
  const place = [host, pathname, searchParams.get("schema") ?? ""].join("\n");
  return createHash("sha256").update(place).digest("hex").slice(0, 32);
}

/** The tasks of a sub-agent are in a schema of their own. */
async function besideIn(database: string, name: string): Promise<string> {
  const { subAgentUrl } = await import("@convoke/backends/postgres");
  return subAgentUrl(database, name);
}

/**
 * The files of a sub-agent. Those in a database have the name of its schema: two agents may have
 * sub-agents with the same schema, and each must find the files of all tasks in it.
 */
async function filesBeside(
  { store, ...rest }: FileOptions,
  { blobs }: Backend,
  database: string | undefined,
): Promise<FileOptions> {
  if (store === undefined || blobs !== undefined || database === undefined) return rest;
  const { schemaOf } = await import("@convoke/backends/postgres");
  return { ...rest, store: store.below(schemaOf(database)) };
}

async function openMemory(): Promise<Backend> {
  const { createMemoryBackend } = await import("@convoke/engine/memory");
  return createMemoryBackend();
}

/** The folder of the agent below the default one, which has the data of earlier versions moved into it. */
async function ownFolder(
  agent: Agent,
  { logger, source }: Pick<AgentDataOptions, "logger" | "source">,
): Promise<{ readonly id: string; readonly folder: string }> {
  const root = resolve(DEFAULT_ROOT);
  const records = readAgentRecordsBelow(root);
  const { id, names, folder = join(root, id) } = findAgentRecord(agent, records, source);
  // If the folder itself has a record, it is the `data` of some agent.
  if (readAgentRecords(root).length === 0) {
    const { moveDataFolder } = await import("@convoke/backends/sqlite");
    const isOwner = (name: string): boolean => isOneOf(name, { id, names });
    if (moveDataFolder({ from: root, to: folder, isOwner })) {
      logger.warn("the tasks of an earlier version were moved", { from: root, to: folder });
    }
  }
  if (!existsSync(folder)) warnOfNamesake({ id, names }, records, logger);
  return { id, folder };
}

/** The folder that an agent with this id has by default. */
export function defaultFolderOf(id: string): string {
  const root = resolve(DEFAULT_ROOT);
  const record = readAgentRecordsBelow(root).find((known) => known.id === id);
  return record?.folder ?? join(root, id);
}

function isOneOf(name: string, { id, names }: AgentKey): boolean {
  return names.includes(name) || agentIdFrom(name) === id;
}

/** An agent that was given an id, or another one, has left its tasks in another folder. */
function warnOfNamesake(
  { id, names }: AgentKey,
  records: readonly AgentRecord[],
  logger: Logger,
): void {
  const namesake = records.find((record) => record.names.at(-1) === names.at(-1));
  if (namesake === undefined) return;
  logger.warn(
    `this agent has no tasks yet: those of the agent with the same name are in ${namesake.folder}; to use them, set its id to ${JSON.stringify(namesake.id)}`,
    { agentId: id },
  );
}

/** Runs a sub-agent in process, with its tasks in a folder below that of its parent. */
async function runBeside(
  name: string,
  agent: Agent,
  { data, database, ...rest }: AgentDataOptions & { readonly data: string },
): Promise<LocalAgent> {
  const own = data === "memory" ? data : join(data, "agents", name);
  const inDatabase = database !== undefined && { database: await besideIn(database, name) };
  // The folder is named by the key under which the parent has the agent, so that is its source.
  const source = data === "memory" ? undefined : join(own, name);
  const storage = { data: own, ...inDatabase, source };
  const { backend, key } = await openAgentData(agent, { ...rest, ...storage });
  const { logger, metrics, tracing } = rest;
  const retention = retentionFor(database === undefined ? own : undefined, rest.retention);
  try {
    const files = await filesBeside(rest.files ?? {}, backend, storage.database);
    const options = { logger, metrics, tracing, retention, files };
    return await startLocalAgent({ agent, backend, key, ...options });
  } catch (error) {
    await closeAgentsAndBackend({ agents: [agent], backend, logger });
    throw error;
  }
}

/** The retention of finished tasks in that storage. The options override the defaults. */
export function retentionFor(
  data: string | undefined,
  options: Partial<RetentionOptions> = {},
): Partial<RetentionOptions> {
  return { ...(data === "memory" && MEMORY_RETENTION), ...options };
}

const ID = /^[0-9a-f-]{36}$/;

const ID_FILE = "agent-id";

/** A random id that is stored with the tasks. Without a folder it is new each time. */
async function instanceId(folder: string | undefined): Promise<string> {
  if (folder === undefined) return randomUUID();
  const file = join(folder, ID_FILE);
  const kept = await readFile(file, "utf8").catch(() => "");
  if (ID.test(kept)) return kept;
  const created = randomUUID();
  await writeFile(file, created, { mode: 0o600 });
  return created;
}
