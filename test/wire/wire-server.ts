import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createJsonLogger } from "@convoke/engine";
import { type Agent, type AgentServer, type ServeAgentOptions, serve } from "convoke";
import { afterAll, beforeAll } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";

/** A server that runs during the tests of a file or of a `describe`. */
export interface WireServer {
  readonly url: string;
  readonly agents: AgentServer["agents"];
  /** Everything it logged, including `debug`. */
  readonly log: readonly string[];
}

/**
 * One or several agents on a real port, with their tasks in SQLite. Its port and data folder are released at the
 * end. The URL is available once the tests run.
 */
export function useServer(
  agent: Agent | readonly Agent[] = demoAgent,
  options: ServeAgentOptions = {},
): WireServer {
  const log: string[] = [];
  let data: string;
  let server: AgentServer;

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), "convoke-wire-"));
    const logger = createJsonLogger("debug", (line) => log.push(line));
    server = await serve(agent, { port: 0, data, logger, ...options });
  });

  afterAll(async () => {
    await server.close();
    await rm(data, { recursive: true, force: true });
  });

  return {
    log,
    get url() {
      return server.url;
    },
    get agents() {
      return server.agents;
    },
  };
}
