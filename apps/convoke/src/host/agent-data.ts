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

/** Where an agent keeps its tasks. */
export interface DataOptions {
  /** Where tasks are kept; by default `.convoke` in the current folder. "memory" keeps them nowhere. */
  readonly data?: string | undefined;
  /** The storage can work no more: the process should end, and say why. */
  readonly onFatal?: ((error: Error) => void) | undefined;
}

interface LoggedDataOptions extends DataOptions {
  readonly logger: Logger;
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
