import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { aMessage, aRequest } from "../conformance/requests.ts";
import type { Speaker } from "../conformance/speaker.ts";
import { jsonRpcSpeaker } from "../conformance/speakers.ts";
import { MortalServer } from "../harness/mortal-server.ts";
import { randomFrom } from "../harness/random.ts";

// The short form; `npm run test:host` runs the full size.
const KILLS = Number(process.env["CONVOKE_CATALOG_KILLS"] ?? 2);
const SEED = Number(process.env["CONVOKE_CATALOG_SEED"] ?? Date.now() % 1_000_000);

const PROGRAM = new URL("../host-load/program.sh", import.meta.url).pathname;

/** An agent that is added, whose program asks. */
const ADDED = {
  id: "program",
  command: "sh",
  args: [PROGRAM],
  protocol: "json-lines",
  workspace: "/tmp",
};

interface CatalogFile {
  readonly version: number;
  readonly agents: Readonly<
    Record<string, { readonly changes?: { readonly description: string } }>
  >;
}

test(
  `a server that is killed ${KILLS} times in the middle of a change has the old or the new catalogue (seed ${SEED})`,
  async () => {
    const random = randomFrom(SEED);
    const server = new MortalServer({ script: new URL("catalog-server.ts", import.meta.url) });
    onTestFinished(() => server.close());
    let url = await server.start();
    const change = async (method: string, path: string, body: object): Promise<number> => {
      const headers = { "content-type": "application/json" };
      const init = { method, headers, body: JSON.stringify(body) };
      return (await fetch(`${url}convoke/agents${path}`, init)).status;
    };
    const speakerTo = (id: string): Speaker =>
      jsonRpcSpeaker({ url: `${url}agents/${id}/` }, "1.0");
    expect(await change("POST", "", ADDED)).toBe(200);
    const waiting = new Map<string, string>();
    for (const id of ["asker", "program"]) {
      waiting.set(id, (await speakerTo(id).sendTask(aRequest("ask"))).id);
    }

    let edition = 0;
    let confirmed = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const edit = async (): Promise<void> => {
        for (;;) {
          const next = edition + 1;
          const changing = change("PATCH", "/thinker", { description: `Edition ${next}.` });
          edition = next;
          if ((await changing) !== 200) throw new Error("the change was rejected");
          confirmed = next;
        }
      };
      const edits = edit().catch(() => undefined);
      await sleep(20 + 50 * random());
      await server.kill();
      await edits;

      const text = readFileSync(join(server.data, "agents.json"), "utf8");
      const { version, agents } = JSON.parse(text) as CatalogFile;
      const stored = Number(/\d+/.exec(agents["thinker"]?.changes?.description ?? "0")?.[0]);
      expect(version).toBe(1);
      expect(agents["program"]).toBeDefined();
      expect(stored).toBeGreaterThanOrEqual(confirmed);
      expect(stored).toBeLessThanOrEqual(edition);
      // The change that the kill interrupted was made or not.
      edition = stored;
      confirmed = stored;

      url = await server.start();
      const card = await fetch(`${url}agents/thinker/.well-known/agent-card.json`);
      expect(await card.json()).toMatchObject({ description: `Edition ${stored}.` });
    }

    for (const [id, taskId] of waiting) {
      const answered = await speakerTo(id).sendTask(aRequest(aMessage("this one", { taskId })));
      expect(answered.status.state, id).toBe("completed");
    }
  },
  120_000 + 10_000 * KILLS,
);
