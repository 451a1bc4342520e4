import { randomUUID } from "node:crypto";
import { userMessage } from "@convoke/protocol";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { needsPostgres } from "../harness/postgres.ts";
import { Receiver } from "../harness/receiver.ts";
import { ScriptProcess } from "../harness/script-process.ts";
import type { Job } from "../kill-all/jobs.ts";
import { verifies } from "../verifies.ts";

const LEASE_MS = 3000;

/** Ten times what is promised: this machine may be busy. */
const LIVENESS_MS = 10 * (LEASE_MS + 2000);

/** Never ends by itself, and does something all the time. */
const JOB: Job = { kind: "cancel", until: 1, restMs: 20 };

describe("the tasks of a server that ends", () => {
  const databaseUrl = needsPostgres();
  let receiver: Receiver;
  let url: string;

  beforeAll(async () => {
    receiver = await Receiver.start();
    url = await databaseUrl();
  });

  afterAll(() => receiver.stop());

  /** How long nothing happened to a task after its server was ended, until the other one went on. */
  async function silenceAfter(signal: NodeJS.Signals): Promise<number> {
    const [one, other] = [start(), start()];
    try {
      const messageId = randomUUID();
      await send(await one.ready, messageId);
      await other.ready;
      const effects = async (): Promise<number> =>
        (await receiver.effects()).filter(({ by }) => by === messageId).length;
      await expect.poll(effects, { timeout: LIVENESS_MS }).toBeGreaterThan(2);

      one.signal(signal);
      const endedAt = performance.now();
      await one.kill(signal);
      const before = await effects();
      await expect.poll(effects, { timeout: LIVENESS_MS, interval: 5 }).toBeGreaterThan(before);
      return performance.now() - endedAt;
    } finally {
      await other.kill();
    }
  }

  function start(): ScriptProcess {
    return new ScriptProcess(new URL("./replica-server.ts", import.meta.url), {
      DATABASE_URL: url,
      LEASE_MS: String(LEASE_MS),
      CONVOKE_RECEIVER: receiver.url,
    });
  }

  verifies(
    "G3",
    "are handed over when it is stopped, before its lease would have run out, and taken over when it is killed",
    async () => {
      // A server that has just started may not hear hints yet, so the best of three counts.
      const stops: number[] = [];
      for (let count = 0; count < 3; count++) stops.push(await silenceAfter("SIGTERM"));
      const stoppedMs = Math.min(...stops);
      const killedMs = await silenceAfter("SIGKILL");

      process.stdout.write(
        `\nHanded over in ${Math.round(stoppedMs)} ms after SIGTERM, taken over in ${Math.round(killedMs)} ms after SIGKILL\n`,
      );
      expect(stoppedMs).toBeLessThan(killedMs);
    },
    5 * LIVENESS_MS,
  );
});

async function send(url: string, messageId: string): Promise<void> {
  const params = {
    message: userMessage(messageId, JSON.stringify(JOB)),
    configuration: { blocking: false },
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/send", params });
  const headers = { "content-type": "application/json" };
  await (await fetch(url, { method: "POST", headers, body })).json();
}
