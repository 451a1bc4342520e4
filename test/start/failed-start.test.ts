import { setTimeout as sleep } from "node:timers/promises";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { createJsonLogger } from "@convoke/engine";
import { serve } from "@convoke/server";
import { expect, test, vi } from "vitest";
import { demoAgent } from "../../apps/convoke/src/host/load-agent.ts";
import { temporaryFolder } from "./temporary-folder.ts";

test("a failed start releases the port, the folder and waiting requests", async () => {
  const folder = temporaryFolder();
  const settings = {
    host: "127.0.0.1",
    logger: createJsonLogger("silent", () => undefined),
  };
  const waiting = Promise.withResolvers<{ readonly port: number; readonly answer: string }>();

  const starting = serve(demoAgent, {
    ...settings,
    port: 0,
    openBackend: async ({ port }) => {
      void fetch(`http://127.0.0.1:${port}/`).then(
        ({ status }) => waiting.resolve({ port, answer: `${status}` }),
        (error: unknown) => waiting.resolve({ port, answer: String(error) }),
      );
      const backend = await openSqliteBackend({ folder });
      vi.spyOn(backend.tasks, "unfinished").mockRejectedValue(new Error("the index is broken"));
      // Time for the request to arrive, which waits for the storage.
      await sleep(200);
      return backend;
    },
  });

  await expect(starting).rejects.toThrow("the index is broken");
  const { port, answer } = await waiting.promise;
  expect(answer).toBe("TypeError: fetch failed");
  const next = await serve(demoAgent, {
    ...settings,
    port,
    openBackend: () => openSqliteBackend({ folder }),
  });
  await next.close();
});
