import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { serveConvoke } from "../start/convoke-process.ts";
import { holderOf } from "../start/holder-of.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";
import { WireClient } from "../wire/wire-client.ts";
import type { Frame } from "../wire/wire-stream.ts";
import { interruptible } from "./interruptible.ts";
import { INTERRUPTED, V03, V1, killUnder, lastOf, listAll, readLog, taskOf } from "./logs.ts";

/** Starting many processes takes long on a busy machine; nothing here measures time. */
const WITHIN_MS = 120_000;

// The short form; `npm run test:kill` runs the full size.
const KILLS = Number(process.env["CONVOKE_KILL_ROUNDS"] ?? 2);

verifies(
  ["G3", "G4"],
  `a start works immediately after each of ${KILLS} kills, regardless of the process id in the data folder`,
  async () => {
    const cwd = temporaryFolder();
    const data = join(cwd, ".convoke", "convoke-demo");
    const logs = new Map<string, readonly Frame[]>();
    let cut: { readonly id: string; readonly seen: number } | undefined;

    for (let kills = 0; kills <= KILLS; kills++) {
      const server = await serveConvoke({ cwd, args: interruptible(cwd) });
      expect(holderOf(data)).toEqual({ pid: server.program.pid, port: server.port });
      for (const [id, log] of logs) expect(await readLog(server, id)).toEqual(log);
      if (cut !== undefined) {
        const log = await readLog(server, cut.id);
        expect(log.length).toBeGreaterThan(cut.seen);
        expect(lastOf(log)).toMatchObject(INTERRUPTED);
        logs.set(cut.id, log);
      }
      const dialect = kills % 2 === 0 ? V03 : V1;
      const stream = await new WireClient(server, dialect).stream("slow 200");
      const { id } = taskOf(await stream.take(5), dialect);

      const [seen = []] = await killUnder(server, [stream]);

      cut = { id, seen: seen.length };
      // Process ids are reused, so the id of the dead process may belong to a living one.
      if (dialect === V1) writeFileSync(join(data, "holder.json"), `{"pid":${process.pid}}`);
    }

    expect(logs.size).toBe(KILLS);
  },
  WITHIN_MS,
);

verifies("G3", "more unfinished tasks than fit a page end before the first response", async () => {
  const cwd = temporaryFolder();
  const args = interruptible(cwd);
  const first = await serveConvoke({ cwd, args });
  const client = new WireClient(first, V03);
  const asked = Array.from({ length: 300 }, () =>
    client.sendTask("slow 100000", { configuration: V03.atOnce }),
  );
  const ids = (await Promise.all(asked)).map(({ id }) => id);

  await killUnder(first);

  const second = await serveConvoke({ cwd, args });
  expect(second.program.stdout).toContain("300 ended");
  const failed = new Map(ids.map((id) => [id, "failed"]));
  expect(await listAll(second)).toEqual(failed);
});
