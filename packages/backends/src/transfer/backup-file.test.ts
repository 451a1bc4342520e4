import { hash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openSqliteBackend } from "../sqlite/sqlite-backend.ts";
import { temporaryFolder } from "../sqlite/temporary-folder.suite.ts";
import { fillStore, taskId } from "./a-store.suite.ts";
import { restoreFolder } from "./backup-folder.ts";
import { contentOf } from "./content-of.suite.ts";

/** Written by the versions that had this format: of a folder with six tasks, and of one below it. */
function backupOf(version: number): string {
  const url = `../../../../test/upgrade/backups/version-${version}.backup`;
  return fileURLToPath(new URL(url, import.meta.url));
}

async function contentIn(folder: string): Promise<object> {
  await using backend = await opened(folder);
  const { total } = await backend.tasks.list({ owner: "anonymous", limit: 10 });
  const tasks = await contentOf(backend);
  // The times are those of the commits.
  return { total, tasks: tasks.map(({ log, ...task }) => ({ ...task, log: log.map(untimed) })) };
}

function untimed({ seq, json }: { readonly seq: number; readonly json: string }): object {
  return { seq, json };
}

async function opened(folder: string) {
  const backend = await openSqliteBackend({ folder, durability: "process" });
  return Object.assign(backend, { [Symbol.asyncDispose]: () => backend.close() });
}

test.each([1, 2])(
  "a backup file of version %i is restored into a folder with everything that it has",
  async (version) => {
    const [to, expected] = [join(temporaryFolder(), "restored"), temporaryFolder()];
    await using backend = await opened(expected);
    await fillStore(backend, 6);

    const { tasks, leftOut } = await restoreFolder({ from: backupOf(version), to });

    expect(tasks).toBe(10);
    // The registry is gone.
    expect([...leftOut]).toEqual([["registry", 1]]);
    await backend.close();
    for (const path of ["", "agents/hotels"]) {
      expect(await contentIn(join(to, path))).toEqual(await contentIn(expected));
    }
    expect(readFileSync(join(to, "agent.json"), "utf8")).toContain("Greeter");
    expect(readFileSync(join(to, "agents.json"), "utf8")).toBe('{"version":1,"agents":{}}');
    expect(readFileSync(join(to, "api-keys.json"), "utf8")).toBe('{"keys":[]}');
    const files = join(to, "agents/hotels/files", taskId(3));
    const contents = existsSync(files) ? readdirSync(files) : [];
    const digests = contents.map((name) => hash("sha256", readFileSync(join(files, name)), "hex"));
    expect(digests).toEqual(contents);
    expect(contents).toHaveLength(version - 1);
  },
);

test("a message that a restored task has accepted is recognized when it is sent again", async () => {
  const to = join(temporaryFolder(), "restored");
  await restoreFolder({ from: backupOf(2), to });
  await using backend = await opened(to);

  const again = await backend.commit({
    taskId: "a retry",
    create: {
      owner: "anonymous",
      contextId: "c",
      agent: "Greeter",
      agentId: "greeter",
      createdAt: 1,
    },
    message: { messageId: "m3", digest: "another" },
    epoch: 1,
    events: [],
    state: "submitted",
    statusAt: 1,
    listed: true,
  });

  expect(again).toMatchObject({ kind: "duplicate", taskId: taskId(3) });
});

test("a damaged, shortened, newer or foreign file is refused before anything is written", async () => {
  const bytes = readFileSync(backupOf(2));
  const to = join(temporaryFolder(), "restored");
  const restore = (content: Uint8Array | string): Promise<unknown> => {
    const from = join(temporaryFolder(), "changed.backup");
    writeFileSync(from, content);
    return restoreFolder({ from, to });
  };

  const flipped = Uint8Array.from(bytes);
  flipped[bytes.length - 200]! ^= 1;
  await expect(restore(flipped)).rejects.toThrow("its checksum is wrong");
  await expect(restore(bytes.subarray(0, -50))).rejects.toThrow("its checksum is wrong");
  await expect(restore(bytes.subarray(0, bytes.indexOf("\n") + 1))).rejects.toThrow("checksum");
  await expect(restore("hello\n")).rejects.toThrow("is not a backup of Convoke");
  const newer = bytes.toString("latin1").replace('"version":2', '"version":3');
  await expect(restore(Buffer.from(newer, "latin1"))).rejects.toThrow("has version 3");
  await expect(restoreFolder({ from: "/nowhere", to })).rejects.toThrow("There is no backup");

  expect(existsSync(to)).toBe(false);
});
