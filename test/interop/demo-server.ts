import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ServeAgentOptions, serve } from "convoke";
import { afterAll, beforeAll } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";

type Server = Awaited<ReturnType<typeof serve>>;

/**
 * The demo agent on a real port, with its tasks in SQLite, for the tests of a file or of a
 * `describe`. Its port and data folder are released at the end. The URL is available once the tests
 * run.
 */
export function useDemoServer(options: Pick<ServeAgentOptions, "token" | "card"> = {}): {
  readonly url: string;
} {
  let data: string;
  let server: Server;

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), "convoke-interop-"));
    server = await serve(demoAgent, { port: 0, data, ...options });
  });

  afterAll(async () => {
    await server.close();
    await rm(data, { recursive: true, force: true });
  });

  return {
    get url() {
      return server.url;
    },
  };
}
