import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createJsonLogger } from "@convoke/engine";
import { type Agent, type ServeAgentOptions, serve } from "convoke";
import { afterAll, beforeAll } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";

/** A server that runs while the tests of a file or of a `describe` do. */
export interface WireServer {
  readonly url: string;
  /** Everything it logged, down to `debug`. */
  readonly log: readonly string[];
}

/**
 * An agent behind a real port, with its tasks in SQLite. Port and data folder are its own and
 * gone at the end. The address is there once the tests run.
 */
export function useServer(agent: Agent = demoAgent, options: ServeAgentOptions = {}): WireServer {
  const log: string[] = [];
  let data: string;
  let server: Awaited<ReturnType<typeof serve>>;

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
  };
}
