import { describe, expect } from "vitest";
import { Phases, runThroughKills } from "../harness/phases.ts";
import { randomFrom } from "../harness/random.ts";
import { Receiver } from "../harness/receiver.ts";
import { Client } from "../kill-all/client.ts";
import { type Job, KINDS } from "../kill-all/jobs.ts";
import { problemsOf } from "../kill-all/verdict.ts";
import { needs } from "../needs.ts";
import { verifies } from "../verifies.ts";
import { PrivateDatabase } from "./private-database.ts";
import { type ReplicaFault, Replicas } from "./replicas.ts";
import { problemsOfTables } from "./tables.ts";
import { Witness } from "./witness.ts";

// `npm run test:cluster` runs the full size.
const TASKS = Number(process.env["CONVOKE_CLUSTER_TASKS"] ?? 20);
const FAULTS = Number(process.env["CONVOKE_CLUSTER_FAULTS"] ?? 8);
const REPLICAS = Number(process.env["CONVOKE_CLUSTER_REPLICAS"] ?? 3);
const SEED = Number(process.env["CONVOKE_CLUSTER_SEED"] ?? Date.now() % 1_000_000);

/** Shorter than usual, so that a takeover does not take long. */
const LEASE_MS = 1000;

type Fault = ReplicaFault | "restart" | "terminate";

/** The same faults in turn, each at a replica of its own choice. */
const KINDS_OF_FAULTS = (
  process.env["CONVOKE_CLUSTER_KINDS"] ??
  "kill,pause,cut,stop,delay,restart,kill,lost answers,terminate"
).split(",") as readonly Fault[];

const REST_MS = 100 * FAULTS;

/** How long the last tasks may take after the last fault. */
const WITHIN_MS = 60_000 + 50 * TASKS;

describe("several servers on one database", () => {
  const postgres = needs("postgres");

  verifies(
    ["G1", "G2", "G3", "G4", "G5", "G6", "G10", "G11"],
    `${TASKS} tasks survive ${FAULTS} faults of ${REPLICAS} servers, of their connections and of the database`,
    async () => {
      const random = randomFrom(SEED);
      const database = new PrivateDatabase(postgres());
      const receiver = await Receiver.start();
      const replicas = await Replicas.start({
        count: REPLICAS,
        databaseUrl: database.url,
        leaseMs: LEASE_MS,
        script: new URL("./replica-server.ts", import.meta.url),
        env: { CONVOKE_RECEIVER: receiver.url, CONVOKE_RESTART: "yes" },
        clocksMs: [0, 5000, -5000],
        random,
      });
      const phases = new Phases((phase) => receiver.enter(phase));
      const faults = Array.from(
        { length: FAULTS },
        (_, count) => KINDS_OF_FAULTS[count % KINDS_OF_FAULTS.length]!,
      );
      const disturb = async (fault: Fault): Promise<void> => {
        if (fault === "restart") return database.restart(2 * LEASE_MS * random());
        if (fault === "terminate") return database.terminateConnections();
        return replicas.fault(fault);
      };
      try {
        const clients = Array.from(
          { length: TASKS },
          (_, n) => new Client(replicas, `job-${n}`, aJob(n, random), ["yes", "no"]),
        );
        const witnesses = clients.map((client) => new Witness(client));

        const seconds = await runThroughKills({
          kills: FAULTS,
          kill: (count) => disturb(faults[count - 1]!),
          phases,
          runs: witnesses.map((witness) => () => witness.run((wanted) => phases.reach(wanted))),
          staggered: false,
          withinMs: WITHIN_MS,
        });

        const stored = new Map((await replicas.stored()).map((task) => [task.record.taskId, task]));
        const effects = Map.groupBy(await receiver.effects(), ({ by }) => by);
        const problems = clients.flatMap((client, n) => {
          const { taskId = "", messageId } = client.caller;
          const found = [
            ...problemsOf(client, stored.get(taskId), effects.get(messageId) ?? []),
            ...witnesses[n]!.problems,
          ];
          return found.map((problem) => `${messageId} (${client.job.kind}): ${problem}`);
        });
        const events = [...stored.values()].reduce((sum, { log }) => sum + log.length, 0);
        const reads = witnesses.reduce((sum, witness) => sum + witness.reads, 0);
        process.stdout.write(`
Cluster test, seed ${SEED}: ${TASKS} tasks on ${REPLICAS} servers in ${seconds.toFixed(1)} s
  faults   ${faults.join(", ")}
  stops    ${replicas.stopsMs.map(Math.round).join(", ")} ms
  events   ${events}
  reads    ${reads}
`);
        expect([...problems, ...problemsOfTables(database)]).toEqual([]);
        expect(stored.size).toBe(TASKS);
        // While the database does not answer, servers say so.
        const complaints = replicas.complaints.split("\n").filter((line) => line !== "");
        expect(complaints.filter((line) => !line.includes("StorageError"))).toEqual([]);
      } finally {
        await replicas.close();
        await receiver.stop();
        database.stop();
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
