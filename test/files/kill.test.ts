import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { StoredFile } from "@convoke/protocol";
import { expect, onTestFinished, test } from "vitest";
import { Caller } from "../harness/caller.ts";
import { MortalServer } from "../harness/mortal-server.ts";
import { sha256 } from "./a-file.ts";

const KILLS = Number(process.env["CONVOKE_FILE_KILLS"] ?? 3);

test("no task names a file that is missing or incomplete, whenever the server was killed", async () => {
  const server = new MortalServer({ script: new URL("storing-server.ts", import.meta.url) });
  onTestFinished(() => server.close());
  await server.start();
  const sent = Array.from({ length: 3 * KILLS }, (_, index) =>
    new Caller(server, `m${index}`, "store").send(),
  );

  for (let kill = 0; kill < KILLS; kill++) {
    await server.killAt({ afterMs: 5 * kill, since: "ready", atCommit: true });
  }
  await Promise.all(sent);
  const stored = await server.stored();

  const named = stored.flatMap(({ log }) => log).flatMap(({ event }) => storedIn(event));
  expect(server.kills).toBe(KILLS);
  expect(named.length).toBeGreaterThanOrEqual(8 * sent.length);
  for (const { taskId, digest, size } of named) {
    const content = readFileSync(join(server.data, "files", taskId, digest));
    expect([content.length, sha256(content)]).toEqual([size, digest]);
  }
}, 120_000);

/** The references in an event, wherever they are. */
function storedIn(value: unknown): readonly StoredFile[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, nested]) =>
    name === "stored" ? [nested as StoredFile] : storedIn(nested),
  );
}
