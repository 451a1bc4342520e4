import type { Agent } from "convoke";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { type Server, serve } from "@convoke/server";
import { createJsonLogger } from "@convoke/engine";
import { onTestFinished } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/demo-agent.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";

/** A whole server in this process, whose storage a test can take away for a while. */
export interface LockableServer extends Server {
  readonly folder: string;
  /** Everything it logged. */
  readonly log: readonly string[];
  /** Another program writes to the database, and for as long as it does nobody else can. */
  lock(): void;
  release(): void;
}

export async function serveLockable(
  options: { readonly agent?: Agent; readonly maxBytes?: number } = {},
): Promise<LockableServer> {
  const { agent = demoAgent, maxBytes } = options;
  const folder = temporaryFolder();
  const log: string[] = [];
  const server = await serve(agent, {
    port: 0,
    host: "127.0.0.1",
    logger: createJsonLogger("warn", (line) => log.push(line)),
    openBackend: () =>
      openSqliteBackend({
        folder,
        // Short, so that a test need not wait the usual five seconds for each failure.
        busyTimeoutMs: 50,
        ...(maxBytes !== undefined && { maxBytes }),
      }),
  });
  const other = new DatabaseSync(join(folder, "tasks.db"), { timeout: 10_000 });
  onTestFinished(async () => {
    other.close();
    await server.close();
  });
  return {
    ...server,
    folder,
    log,
    lock: () => other.exec("BEGIN IMMEDIATE"),
    release: () => other.exec("ROLLBACK"),
  };
}
