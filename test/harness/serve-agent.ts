import { openSqliteBackend } from "@convoke/backends/sqlite";
import { type Backend, createJsonLogger } from "@convoke/engine";
import type { Agent } from "@convoke/protocol";
import { serve } from "@convoke/server";
import { CommitCounter } from "./commit-counter.ts";
import { reportReady } from "./report-ready.ts";

type ServeOptions = NonNullable<Parameters<typeof serve>[1]>;

export interface ServeAgentOptions extends Pick<ServeOptions, "push"> {
  /** Wraps the storage of the server. */
  readonly wrapBackend?: (backend: Backend) => Backend;
  /** The level of its log on standard error. Default: `warn`. */
  readonly level?: "warn" | "error";
}

/**
 * The script of a `MortalServer`: serves an agent from the folder that it was given, with its
 * commits counted.
 */
export async function serveAgent(agent: Agent, options: ServeAgentOptions = {}): Promise<void> {
  const { wrapBackend = (backend: Backend) => backend, level = "warn", ...more } = options;
  const folder = process.env["CONVOKE_DATA"] ?? "";
  const commits = new CommitCounter(process.env["CONVOKE_COMMITS"] ?? "");
  const server = await serve(agent, {
    port: 0,
    host: "127.0.0.1",
    logger: createJsonLogger(level, (line) => process.stderr.write(line)),
    openBackend: async () => commits.watch(wrapBackend(await openSqliteBackend({ folder }))),
    // The callers of these servers send again what got no answer, and activate no extension.
    idempotency: "always",
    ...more,
  });
  reportReady(server.url);
}
