import { apiKeys, serve } from "convoke";
import { expect, onTestFinished } from "vitest";
import { runCli } from "../../apps/convoke/src/cli/testing/run-cli.suite.ts";
import { knowingAgent } from "../auth/a-knowing-agent.ts";
import { memoryLogger } from "../engine/an-engine.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { verifies } from "../verifies.ts";

const address = needsPostgres();

/** Long enough for a busy machine; servers need a second. */
const EVENTUALLY = { timeout: 20_000, interval: 200 };

verifies(
  "R114",
  "a key that is created or revoked in the database is so at all of its servers, without a restart",
  async () => {
    const database = await address();
    const keys = (...words: string[]) => runCli(["keys", ...words, "--database", database]);
    const servers = await Promise.all(
      [1, 2].map(() =>
        serve(knowingAgent, { port: 0, database, auth: [apiKeys()], logger: memoryLogger() }),
      ),
    );
    onTestFinished(async () => {
      await Promise.all(servers.map((server) => server.close()));
    });
    /** What the servers respond to the key. */
    const statuses = (key: string): Promise<readonly number[]> =>
      Promise.all(
        servers.map(async ({ url }) => {
          const headers = { "x-api-key": key, "a2a-version": "1.0" };
          return (await fetch(new URL("/tasks", url), { headers })).status;
        }),
      );

    const none = await keys("list");
    const created = await keys("create", "ci");
    const key = created.stdout.trim();

    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining("no keys") });
    expect(created.stderr).toContain("CONVOKE_API_KEYS=database");
    await expect.poll(() => statuses(key), EVENTUALLY).toEqual([200, 200]);
    expect((await keys("create", "ci")).stderr).toContain("There is an active key");
    expect((await keys("revoke", "ci")).code).toBe(0);
    await expect.poll(() => statuses(key), EVENTUALLY).toEqual([401, 401]);
    const viaVariable = await runCli(["keys", "list"], { env: { DATABASE_URL: database } });
    expect(viaVariable.stdout).toContain("ci revoked");
  },
);
