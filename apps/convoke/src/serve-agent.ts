import type { Agent } from "@convoke/protocol";
import { type ServeOptions, type Server, serve as serveOn } from "@convoke/server";
import { type DataOptions, defaultLogger, openData, retentionFor } from "./agent-data.ts";

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
