import { describe, expect } from "vitest";
import { randomFrom } from "../harness/random.ts";
import { Receiver } from "../harness/receiver.ts";
import { Client } from "../kill-all/client.ts";
import { problemsOf } from "../kill-all/verdict.ts";
import { needs } from "../needs.ts";
import { verifies } from "../verifies.ts";
import { PrivateDatabase } from "./private-database.ts";
import { Replicas } from "./replicas.ts";

const LEASE_MS = 1000;
const TASKS = 30;

/** Shorter than the lease, and so long that all leases are over. */
const DOWN_MS = [0, 2 * LEASE_MS, 3 * LEASE_MS];

describe("a database that crashes and is started again", () => {
  const postgres = needs("postgres");

  verifies(
    ["G1", "G3", "G4"],
    "loses nothing, and no server takes another one for gone because of it",
    async () => {
      const database = new PrivateDatabase(postgres());
      const receiver = await Receiver.start();
      const replicas = await Replicas.start({
        count: 3,
        databaseUrl: database.url,
        leaseMs: LEASE_MS,
        script: new URL("./replica-server.ts", import.meta.url),
        env: { CONVOKE_RECEIVER: receiver.url },
        random: randomFrom(1),
      });
      try {
        const clients = Array.from({ length: TASKS }, (_, n) => {
          const kind = n % 2 === 0 ? "steps" : "stream";
          return new Client(replicas, `job-${n}`, { kind, until: 1, restMs: 100 });
        });
        const ended = Promise.all(clients.map((client) => client.run(async () => undefined)));
        for (const downMs of DOWN_MS) {
          const counts = clients.map(({ caller }) => caller.frames.length);
          await Promise.all(clients.map(({ caller }, n) => caller.hasMoreThan(counts[n]!)));
          await database.restart(downMs);
        }
        await receiver.enter(1);
        await ended;

        const stored = new Map((await replicas.stored()).map((task) => [task.record.taskId, task]));
        const effects = Map.groupBy(await receiver.effects(), ({ by }) => by);
        const problems = clients.flatMap((client) => {
          const { taskId = "", messageId } = client.caller;
          return problemsOf(client, stored.get(taskId), effects.get(messageId) ?? []);
        });
        expect(problems).toEqual([]);
        const takeovers = [...stored.values()].flatMap(({ log }) =>
          log.filter(({ event }) => event.kind === "internal:attempt" && "crashes" in event),
        );
        expect(takeovers).toEqual([]);
      } finally {
        await replicas.close();
        await receiver.stop();
        database.stop();
      }
    },
    180_000,
  );
});
