import { expect, test } from "vitest";
import { SharedMemory } from "../cluster/shared-memory.ts";
import { FaultyStorage } from "../wire/faulty-storage.ts";
import { StorageError } from "../../packages/backends/src/storage/storage-error.ts";
import { verifies } from "../verifies.ts";
import { aServer, send } from "./a-measured-server.ts";

async function ready(url: string): Promise<readonly [number, unknown]> {
  const answer = await fetch(`${url}ready`);
  return [answer.status, await answer.json()];
}

test("a server that stops is alive but not ready, and says why", async () => {
  const go = Promise.withResolvers<void>();
  const { server, url } = await aServer({}, { run: () => go.promise.then(() => "done") });
  const answer = send(url, "go");
  await expect
    .poll(async () => (await fetch(`${url}metrics`)).text())
    .toContain("convoke_tasks_running 1");
  expect(await ready(url)).toEqual([200, { status: "ok" }]);

  const closed = server.close({ drainMs: 60_000 });

  expect(await ready(url)).toEqual([503, { status: "unavailable", reason: "draining" }]);
  expect((await fetch(`${url}health`)).status).toBe(200);
  go.resolve();
  await answer;
  await closed;
});

test("a server that lost its lease in a shared storage is not ready until it has one again", async () => {
  const backend = new SharedMemory().open();
  const { url } = await aServer({ openBackend: async () => backend });
  expect(await ready(url)).toEqual([200, { status: "ok" }]);

  backend.isAlive = false;

  expect(await ready(url)).toEqual([503, { status: "unavailable", reason: "lease" }]);
  backend.isAlive = true;
  expect((await ready(url))[0]).toBe(200);
});

verifies(
  "v1-S65",
  "a server whose storage fails says when to try again, logs it, and is not ready until it works",
  async () => {
    const storage = new FaultyStorage();
    const { url, log } = await aServer({ openBackend: async () => storage.open() });
    await send(url, "go");
    expect((await ready(url))[0]).toBe(200);

    storage.failCommits(new StorageError({ code: "SQLITE_FULL", message: "disk is full" }));
    const refused = await send(url, "go");

    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(log.join("\n")).toContain("the storage failed");
    expect(await ready(url)).toEqual([503, { status: "unavailable", reason: "storage" }]);
    storage.heal();
    await send(url, "go");
    expect((await ready(url))[0]).toBe(200);
  },
);
