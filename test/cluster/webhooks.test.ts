import { describe, expect } from "vitest";
import { randomFrom } from "../harness/random.ts";
import { needs } from "../needs.ts";
import { Webhook, accepts, answers } from "../push/a-webhook.ts";
import { endedTasks, placesOf, placesWorthTelling } from "../push/arrivals.ts";
import { PUSH_DIALECTS, taskIdOf } from "../push/requests.ts";
import { verifies } from "../verifies.ts";
import { PrivateDatabase } from "./private-database.ts";
import { type ReplicaFault, Replicas } from "./replicas.ts";

const TASKS = 20;
const SEED = Number(process.env["CONVOKE_CLUSTER_SEED"] ?? Date.now() % 1_000_000);
const FAULTS: readonly ReplicaFault[] = ["kill", "pause", "cut", "stop", "delay", "lost answers"];

describe("several servers that push notifications", () => {
  const postgres = needs("postgres");

  verifies(
    ["G12", "G3"],
    "deliver each of them at least once and in order, whatever happens to one of them",
    async () => {
      const random = randomFrom(SEED);
      const webhook = await Webhook.start();
      webhook.manner = (request, response) =>
        (random() < 0.5 ? accepts : answers(500))(request, response);
      const database = new PrivateDatabase(postgres());
      const replicas = await Replicas.start({
        count: 3,
        databaseUrl: database.url,
        leaseMs: 1000,
        script: new URL("./push-replica.ts", import.meta.url),
        env: {},
        random,
      });
      try {
        const taskIds: string[] = [];
        for (let count = 0; count < TASKS; count++) {
          const dialect = PUSH_DIALECTS[count % 2]!;
          const target = { url: webhook.url, token: "t" };
          taskIds.push(taskIdOf(await dialect.send(await replicas.url(), target)));
          const fault = count % 3 === 2 ? FAULTS[Math.floor(count / 3)] : undefined;
          if (fault !== undefined) await replicas.fault(fault);
        }
        webhook.manner = accepts;
        const ends = (): number => endedTasks(webhook.arrivals).size;
        await expect.poll(ends, { timeout: 90_000, message: `seed ${SEED}` }).toBe(TASKS);

        const stored = new Map((await replicas.stored()).map((task) => [task.record.taskId, task]));
        for (const taskId of taskIds) {
          const places = placesOf(webhook.arrivals, taskId);
          const { log = [] } = stored.get(taskId) ?? {};
          expect(places, `task ${taskId}, seed ${SEED}`).toEqual(placesWorthTelling(log));
        }
      } finally {
        await replicas.close();
        database.stop();
      }
    },
    180_000,
  );
});
