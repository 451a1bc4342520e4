import type { Agent, AgentBeside } from "@convoke/protocol";
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
  startBeside,
} from "@convoke/engine";
import { join, resolve } from "node:path";
import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";

const FILE = "agent-id";

const ID = /^[0-9a-f-]{36}$/;

/** Memory is dearer than a disk, and what is in it is gone soon anyway. */
const MEMORY_RETENTION = { maxTasks: 1000, perCycle: 100 };

/** How an agent is served. Everything has a default that is good on a laptop. */
export interface ServeAgentOptions
  extends Partial<Omit<ServeOptions, "openBackend">>, DataOptions {}

/** Serves an agent, with its tasks in SQLite. */
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

/** How an agent lives in an app. Everything has a default that is good on a laptop. */
export interface MountAgentOptions
  extends Partial<Omit<MountOptions, "openBackend">>, DataOptions {}

/** Gives an agent, with its tasks in SQLite, to an app that has the port. */
export function mount(agent: Agent, options: MountAgentOptions = {}): Promise<Mounted> {
  const { data, onFatal, logger = defaultLogger(), ...rest } = options;
  return mountOn(agent, {
    ...rest,
    logger,
    retention: retentionFor(data, rest.retention),
    openBackend: () => openData(agent, { data, onFatal, logger }),
  });
}

/** Where an agent keeps its tasks. */
interface DataOptions {
  /** Where tasks are kept; by default `.convoke` in the current folder. "memory" keeps them nowhere. */
  readonly data?: string | undefined;
  /** The storage can work no more: the process should end, and say why. */
  readonly onFatal?: ((error: Error) => void) | undefined;
}

interface LoggedDataOptions extends DataOptions {
  readonly logger: Logger;
}

/**
 * Opens the storage for an agent, which is told where that is.
 *
 * @param holder what the message of a second process tells about this one
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

/** Runs an agent for another one, with its tasks in a folder below those of the other. */
async function runBeside(
  name: string,
  agent: Agent,
  { data = ".convoke", ...rest }: LoggedDataOptions,
): Promise<AgentBeside> {
  const own = data === "memory" ? data : join(data, "agents", name);
  const backend = await openData(agent, { ...rest, data: own });
  return startBeside({ agent, backend, logger: rest.logger, retention: retentionFor(own) });
}

/** How long ended tasks are kept there, unless the options say otherwise. */
function retentionFor(
  data: string | undefined,
  options: Partial<RetentionOptions> = {},
): Partial<RetentionOptions> {
  return { ...(data === "memory" && MEMORY_RETENTION), ...options };
}

/** Warnings and errors, where a terminal shows them. */
function defaultLogger(): Logger {
  return createJsonLogger("warn", (line) => process.stderr.write(line));
}

/**
 * What tells this agent from every other, also after a restart: its name, and a
 * mark that is kept with its tasks. Without a folder, which must exist, it is new each time.
 */
export async function agentId(name: string, folder: string | undefined): Promise<string> {
  if (folder === undefined) return `${name}/${randomUUID()}`;
  const file = join(folder, FILE);
  const kept = await readFile(file, "utf8").catch(() => "");
  if (ID.test(kept)) return `${name}/${kept}`;
  const mark = randomUUID();
  await writeFile(file, mark, { mode: 0o600 });
  return `${name}/${mark}`;
}
