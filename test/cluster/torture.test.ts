import { describe, expect } from "vitest";
import { Phases, runThroughKills } from "../harness/phases.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { randomFrom } from "../harness/random.ts";
import { Receiver } from "../harness/receiver.ts";
import { Client } from "../kill-all/client.ts";
import { type Job, KINDS } from "../kill-all/jobs.ts";
import { problemsOf } from "../kill-all/verdict.ts";
import { verifies } from "../verifies.ts";
import { type Fault, Replicas } from "./replicas.ts";

// The short form; `npm run test:cluster` runs the full size.
const TASKS = Number(process.env["CONVOKE_CLUSTER_TASKS"] ?? 20);
const FAULTS = Number(process.env["CONVOKE_CLUSTER_FAULTS"] ?? 4);
const REPLICAS = Number(process.env["CONVOKE_CLUSTER_REPLICAS"] ?? 3);
const SEED = Number(process.env["CONVOKE_CLUSTER_SEED"] ?? Date.now() % 1_000_000);

/** Shorter than usual, so that a takeover does not take long. */
const LEASE_MS = 1000;

/** The same faults in turn, each at a replica of its own choice. */
const KINDS_OF_FAULTS: readonly Fault[] = ["kill", "pause", "stop", "kill"];

const REST_MS = 100 * FAULTS;

/** How long the last tasks may take after the last fault. */
const WITHIN_MS = 60_000 + 50 * TASKS;

describe("several servers on one database", () => {
  const databaseUrl = needsPostgres();

  verifies(
    ["G1", "G2", "G3", "G4", "G5", "G6", "G10"],
    `${TASKS} tasks survive ${FAULTS} kills, pauses and stops of ${REPLICAS} servers`,
    async () => {
      const random = randomFrom(SEED);
      const receiver = await Receiver.start();
      const replicas = new Replicas({
        count: REPLICAS,
        databaseUrl: await databaseUrl(),
        leaseMs: LEASE_MS,
        env: { CONVOKE_RECEIVER: receiver.url, CONVOKE_RESTART: "yes" },
        random,
      });
      const phases = new Phases((phase) => receiver.enter(phase));
      try {
        await replicas.ready();
        const clients = Array.from(
          { length: TASKS },
          (_, n) => new Client(replicas, `job-${n}`, aJob(n, random)),
        );

        const seconds = await runThroughKills({
          kills: FAULTS,
          kill: (count) => replicas.fault(KINDS_OF_FAULTS[count % KINDS_OF_FAULTS.length]!),
          phases,
          runs: clients.map((client) => () => client.run((wanted) => phases.reach(wanted))),
          staggered: false,
          withinMs: WITHIN_MS,
        });

        const stored = new Map((await replicas.stored()).map((task) => [task.record.taskId, task]));
        const effects = Map.groupBy(await receiver.effects(), ({ by }) => by);
        const problems = clients.flatMap((client) => {
          const { taskId = "", messageId } = client.caller;
          const found = problemsOf(client, stored.get(taskId), effects.get(messageId) ?? []);
          return found.map((problem) => `${messageId} (${client.job.kind}): ${problem}`);
        });
        const events = [...stored.values()].reduce((sum, { log }) => sum + log.length, 0);
        const { kill, pause, stop } = replicas.faults;
        process.stdout.write(`
Cluster test, seed ${SEED}: ${TASKS} tasks on ${REPLICAS} servers in ${seconds.toFixed(1)} s
  faults   ${kill} kills, ${pause} pauses, ${stop} stops (${replicas.stopsMs.map(Math.round).join(", ")} ms)
  events   ${events}
`);
        expect(problems).toEqual([]);
        expect(stored.size).toBe(TASKS);
        expect(replicas.complaints).toBe("");
      } finally {
        await replicas.close();
        await receiver.stop();
      }
    },
    2 * WITHIN_MS + 15_000 * FAULTS,
  );
});

function aJob(n: number, random: () => number): Job {
  const kind = KINDS[n % KINDS.length]!;
  const until = n % 5 === 0 ? FAULTS : Math.floor(random() * (FAULTS + 1));
  return { kind, until, restMs: Math.round(REST_MS * (0.5 + random())) };
}
