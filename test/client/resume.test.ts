import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createJsonLogger } from "@convoke/engine";
import { connect } from "@convoke/client";
import { serve } from "convoke";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { randomFrom } from "../harness/random.ts";
import { verifies } from "../verifies.ts";
import { logOf, runOverCuts } from "./cut-run.ts";
import { CuttingProxy } from "./cutting-proxy.ts";
import { talker } from "./talker.ts";

/** How many answers are read over cut connections, over all versions and bindings. */
const RUNS = Number(process.env["CONVOKE_RESUME_RUNS"] ?? 60);
const SEED = Number(process.env["CONVOKE_RESUME_SEED"] ?? Date.now() % 1_000_000);
const AT_ONCE = 12;

const WAYS = (["jsonrpc", "rest", "grpc"] as const).flatMap((binding) =>
  (["1.0", "0.3"] as const).map((version) => ({ binding, version })),
);

describe(`answers over connections that are cut at random bytes (seed ${SEED})`, () => {
  const proxy = new CuttingProxy();
  let server: Awaited<ReturnType<typeof serve>>;
  let url: string;
  let data: string;
  let runs = 0;

  beforeAll(async () => {
    url = await proxy.open();
    data = await mkdtemp(join(tmpdir(), "convoke-resume-"));
    const logger = createJsonLogger("error", (line) => process.stderr.write(line));
    server = await serve(talker, { port: 0, data, publicUrl: url, logger });
    proxy.target = new URL(`http://127.0.0.1:${server.port}/`);
  });

  afterAll(async () => {
    await proxy.close();
    await server.close();
    await rm(data, { recursive: true, force: true });
  });

  for (const { binding, version } of WAYS) {
    const title = `are received exactly as they are in the log (${binding} ${version})`;
    const run = async (): Promise<void> => {
      const random = randomFrom(
        SEED + WAYS.findIndex((way) => way.binding === binding && way.version === version),
      );
      proxy.cutBy(() => undefined);
      const remote = await connect(url, { bindings: [binding], version });
      const direct = await connect(url, { bindings: [binding], version });
      const cutsBefore = proxy.cuts;
      let left = Math.ceil(RUNS / WAYS.length);
      // Some in the head or before it, most in the middle; some last long enough for several
      // answers. The first one never does, so that each binding meets a cut.
      let isFirst = true;
      proxy.cutBy(() => {
        const dice = isFirst ? 0.2 : random();
        isFirst = false;
        if (dice < 0.1) return 0;
        if (dice < 0.25) return Math.floor(random() * 300);
        return Math.floor(random() * (dice < 0.85 ? 20_000 : 100_000));
      });
      const tasks: Awaited<ReturnType<typeof runOverCuts>>[] = [];
      await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          while (left-- > 0)
            tasks.push(await runOverCuts(remote, `${20 + Math.floor(random() * 60)}`));
        }),
      );
      const cuts = proxy.cuts - cutsBefore;
      proxy.cutBy(() => undefined);

      for (const { taskId, got, text } of tasks) {
        expect(got).toEqual(await logOf(direct, taskId));
        expect((await direct.get(taskId)).status.state).toBe("completed");
        expect(text).toContain("🦉");
      }
      runs += tasks.length;
      // A few answers may share a connection that lasts long; in a long run most do not.
      expect(cuts).toBeGreaterThan(RUNS < 1000 ? 0 : tasks.length / 4);
    };
    verifies("G2", title, run, 30_000 + RUNS * 500);
  }

  test("and no message was accepted twice, however often it was sent", async () => {
    const inspector = await connect(url, { version: "1.0" });

    const { totalSize } = await inspector.list({ pageSize: 1 });

    expect(runs).toBeGreaterThanOrEqual(RUNS);
    expect(totalSize).toBe(runs);
  });
});
