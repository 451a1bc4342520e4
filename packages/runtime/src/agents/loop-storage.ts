import type { Backend, Logger } from "@convoke/engine";
import type { Agent, LocalAgent } from "@convoke/protocol";
import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

/** Where the tasks of a loop are kept. */
export interface LoopStorage {
  /**
   * A folder in which tasks are kept, so that `resume(taskId)` works in the next process. One
   * process at a time can use it. Default: tasks are kept in memory.
   */
  readonly data?: string | undefined;
  /** Keeps the tasks instead of `data`. The loop closes it. */
  readonly backend?: Backend | undefined;
}

/** Opens the storage. An agent with a folder is prepared for it: its sub-agents keep their tasks below. */
export async function openStorage(
  agent: Agent,
  { data, backend }: LoopStorage,
  logger: Logger,
): Promise<Backend> {
  if (backend !== undefined) return backend;
  if (data === undefined) return (await import("@convoke/engine/memory")).createMemoryBackend();
  return openFolder(agent, resolve(data), logger);
}

async function openFolder(agent: Agent, folder: string, logger: Logger): Promise<Backend> {
  // Loaded when it is needed: a loop in memory starts no storage thread.
  const { openSqliteBackend } = await import("@convoke/backends/sqlite");
  const opened = await openSqliteBackend({
    folder,
    onFatal: (error) => logger.error("the storage failed", { error }),
  });
  try {
    const id = `${agent.info.name}/${await idIn(folder)}`;
    const runBeside = (name: string, other: Agent): Promise<LocalAgent> =>
      startInFolder(other, join(folder, "agents", name), logger);
    agent.prepare?.({ id, folder, logger, runBeside });
    return opened;
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function startInFolder(agent: Agent, folder: string, logger: Logger): Promise<LocalAgent> {
  const { startLocalAgent } = await import("@convoke/engine");
  return startLocalAgent({ agent, backend: await openFolder(agent, folder, logger), logger });
}

const ID = /^[0-9a-f-]{36}$/;

const ID_FILE = "agent-id";

/** Tells this agent from every other with the same name, also after a restart. */
async function idIn(folder: string): Promise<string> {
  const file = join(folder, ID_FILE);
  const stored = await readFile(file, "utf8").catch(() => "");
  if (ID.test(stored)) return stored;
  const id = randomUUID();
  await writeFile(file, id, { mode: 0o600 });
  return id;
}
