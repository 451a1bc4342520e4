import { expect } from "vitest";
import { writeAgent } from "../start/agent-file.ts";
import { serveConvoke } from "../start/convoke-process.ts";
import { foldOf } from "../start/fold-of.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { verifies } from "../verifies.ts";
import { DIALECTS } from "../wire/dialect.ts";
import { faultOf } from "../wire/rpc.ts";
import { WireClient } from "../wire/wire-client.ts";
import { interruptible } from "./interruptible.ts";
import { INTERRUPTED, V03, idsOf, killUnder, lastOf, listAll, readLog, taskOf } from "./logs.ts";

/** An agent that never answers; its name is that of the agent that was killed. */
const GONE = `export default defineAgent({
  name: "Convoke Demo",
  description: "Ends the process when it is run.",
  async *run() { process.exit(99); },
});`;

verifies(
  ["G2", "G3", "R35", "R42"],
  "streams that kill -9 cut resume exactly where they were, from disk alone",
  async () => {
    const cwd = temporaryFolder();
    const first = await serveConvoke({ cwd, args: interruptible(cwd) });
    const streams = await Promise.all(
      DIALECTS.map((dialect) => new WireClient(first, dialect).stream("slow 200")),
    );
    await Promise.all(streams.map((stream) => stream.take(12)));

    const seen = await killUnder(first, streams);

    const args = ["serve", writeAgent(cwd, GONE)];
    const second = await serveConvoke({ cwd, args });
    const states = new Map<string, string>();
    expect(second.program.stdout).toContain("2 ended");
    for (const [index, dialect] of DIALECTS.entries()) {
      const client = new WireClient(second, dialect);
      const before = seen[index] ?? [];
      const { id } = taskOf(before, dialect);

      const rest = await (await client.subscribe(id, before.at(-1)?.id)).all;

      const log = await readLog(second, id, dialect);
      expect(before.length).toBeLessThan(200);
      expect(rest.length).toBeGreaterThan(0);
      expect([...before, ...rest]).toEqual(log);
      expect(lastOf(log, dialect)).toMatchObject(INTERRUPTED);
      // A reader at any position gets the rest, even if there is none.
      for (let place = 1; place <= log.length; place++) {
        const after = await (await client.subscribe(id, String(place))).all;
        expect(after).toEqual(log.slice(place));
      }
      expect(await client.get(id)).toEqual(foldOf(log, dialect));
      // A reader without a cursor gets the final state.
      const told = await client.call("subscribe", { id });
      if (dialect === V03) expect(told.text.match(/^id: /gm)).toHaveLength(1);
      else expect(faultOf(told).code).toBe(-32004);
      states.set(id, "failed");
    }
    expect(await listAll(second)).toEqual(states);

    // A task that has ended is not ended again.
    const logs = await Promise.all([...states.keys()].map((id) => readLog(second, id)));
    await killUnder(second);
    const third = await serveConvoke({ cwd, args });
    expect(await Promise.all([...states.keys()].map((id) => readLog(third, id)))).toEqual(logs);
    expect(third.program.stdout).not.toContain("Ended");
  },
);

verifies(
  ["G2", "R42", "R111"],
  "a reader that left before the kill gets what was written after it, in either version",
  async () => {
    const cwd = temporaryFolder();
    const first = await serveConvoke({ cwd });
    const stream = await new WireClient(first, V03).stream("slow 200");
    const before = await stream.take(5);
    stream.leave();
    const { id } = taskOf(before, V03);
    const watching = await new WireClient(first, V03).subscribe(id, before.at(-1)?.id);
    await watching.take(10);

    await killUnder(first, [watching]);

    const second = await serveConvoke({ cwd });
    const ids = idsOf(await readLog(second, id));
    for (const dialect of DIALECTS) {
      const client = new WireClient(second, dialect);
      const rest = await (await client.subscribe(id, before.at(-1)?.id)).all;
      expect(idsOf(before).concat(idsOf(rest))).toEqual(ids);
      expect(ids.length).toBeGreaterThan(15);
    }
  },
);
