import { openPostgresBackend, subAgentUrl } from "@convoke/backends/postgres";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect } from "vitest";
import { type IsRejected, aPlan } from "../agent-tree/kill-plan.ts";
import { type Left, problemsOf } from "../agent-tree/kill-verdict.ts";
import { Notes } from "../agent-tree/notes.ts";
import { Phases, runThroughKills } from "../harness/phases.ts";
import { randomFrom } from "../harness/random.ts";
import { ScriptProcess } from "../harness/script-process.ts";
import { readAllTasks } from "../harness/stored-tasks.ts";
import { problemsOfFrames, problemsOfLog } from "../kill-all/verdict.ts";
import { needs } from "../needs.ts";
import { verifies } from "../verifies.ts";
import { ApprovingClient } from "./approving-client.ts";
import { LoadBalancer } from "./load-balancer.ts";
import { PrivateDatabase } from "./private-database.ts";
import { type ReplicaFault, Replicas } from "./replicas.ts";
import { problemsOfTables } from "./tables.ts";

const TASKS = Number(process.env["CONVOKE_CLUSTER_AGENT_TASKS"] ?? 60);
const FAULTS = Number(process.env["CONVOKE_CLUSTER_AGENT_FAULTS"] ?? 24);
const REPLICAS = 4;
const SEED = Number(process.env["CONVOKE_CLUSTER_SEED"] ?? Date.now() % 1_000_000);

/** The lease of a server as it is by default. */
const LEASE_MS = 3000;

/** Ten times what is promised after the last fault: the machine may be busy. */
const WITHIN_MS = 10 * (LEASE_MS + 5000);

type Fault = ReplicaFault | "restart" | "terminate";

const KINDS_OF_FAULTS: readonly Fault[] = [
  "kill",
  "pause",
  "cut",
  "stop",
  "delay",
  "restart",
  "kill",
  "lost answers",
  "terminate",
];

const isRejected: IsRejected = (path) => path.includes(".1.1.");

describe("several servers with agents that have models, guarded tools and sub-agents", () => {
  const postgres = needs("postgres");

  verifies(
    ["G2", "G3", "G10", "G11"],
    `${TASKS} tasks survive ${FAULTS} faults: every guarded call runs once, after its approval`,
    async () => {
      const random = randomFrom(SEED);
      const folder = mkdtempSync(join(tmpdir(), "convoke-agents-"));
      const notes = new Notes(join(folder, "notes"));
      const database = new PrivateDatabase(postgres());
      const model = new ScriptProcess(new URL("./agents-model.ts", import.meta.url));
      const front = new LoadBalancer();
      const replicas = await Replicas.start({
        count: REPLICAS,
        databaseUrl: database.url,
        leaseMs: LEASE_MS,
        script: new URL("./agents-replica.ts", import.meta.url),
        env: {
          FRONT_URL: await front.open(),
          MODEL_URL: await model.ready,
          NOTES_FILE: join(folder, "notes"),
        },
        random,
      });
      front.servers.resolve(replicas);
      const disturb = async (count: number): Promise<void> => {
        await sleep(500 + 1500 * random());
        const fault = KINDS_OF_FAULTS[(count - 1) % KINDS_OF_FAULTS.length]!;
        if (fault === "restart") return database.restart(2 * LEASE_MS * random());
        if (fault === "terminate") return database.terminateConnections();
        return replicas.fault(fault);
      };
      try {
        const clients = Array.from({ length: TASKS }, (_, place) => {
          const { work } = aPlan(place, random);
          return new ApprovingClient({ servers: replicas, plan: { work }, notes, isRejected });
        });

        let calmAt = 0;
        const seconds = await runThroughKills({
          kills: FAULTS,
          kill: async (count) => {
            await disturb(count);
            calmAt = performance.now();
          },
          phases: new Phases(),
          runs: clients.map((client) => () => client.run()),
          staggered: true,
          withinMs: WITHIN_MS,
        });
        const calmMs = performance.now() - calmAt;

        const middleUrl = subAgentUrl(database.url, "middle");
        const hosted = await replicas.stored();
        const beside = await readAllTasks(await openPostgresBackend({ url: middleUrl }));
        const storedBy = (id: string) => hosted.filter(({ record }) => record.agentId === id);
        const left: readonly Left[] = [
          { name: "root", stored: storedBy("root"), notes: notes.all() },
          { name: "middle", stored: beside, notes: [] },
          { name: "leaf", stored: storedBy("leaf"), notes: [] },
        ];
        process.stdout.write(summaryOf(clients, left, seconds, calmMs));
        const middleSchema = new URL(middleUrl).searchParams.get("schema")!;
        expect([
          ...problemsOf(clients, left, isRejected),
          ...clients.flatMap((client) => problemsOfClient(client, left[0]!)),
          ...left.flatMap(({ name, stored }) =>
            stored.flatMap((task) =>
              problemsOfLog(task).map((problem) => `${name} ${task.record.taskId}: ${problem}`),
            ),
          ),
          ...problemsOfTables(database),
          ...problemsOfTables(database, middleSchema),
          // While the database does not answer, servers say so.
          ...replicas.complaints.split("\n").filter((line) => !/^$|StorageError/.test(line)),
        ]).toEqual([]);
      } finally {
        front.close();
        await replicas.close();
        await model.kill();
        database.stop();
        rmSync(folder, { recursive: true });
      }
    },
    2 * WITHIN_MS + 20_000 * FAULTS,
  );
});

/** What a client observed that is wrong, and what it read that is not in the log. */
function problemsOfClient(client: ApprovingClient, { stored }: Left): readonly string[] {
  const { caller, plan, problems } = client;
  const own = stored.find(({ record }) => record.taskId === caller.taskId);
  const frames = own === undefined ? [] : problemsOfFrames(client, own);
  return [...problems, ...frames].map((problem) => `${plan.work.id}: ${problem}`);
}

function summaryOf(
  clients: readonly ApprovingClient[],
  agents: readonly Left[],
  seconds: number,
  calmMs: number,
): string {
  const asked = clients.reduce((sum, client) => sum + client.asked, 0);
  const losses = clients.reduce((sum, { caller }) => sum + caller.losses, 0);
  return `
Cluster test of agents, seed ${SEED}: ${TASKS} tasks, ${FAULTS} faults in ${seconds.toFixed(1)} s
  tasks              ${agents.map(({ name, stored }) => `${name} ${stored.length}`).join(", ")}
  approvals          ${asked}
  connections lost   ${losses}
  last task          ${Math.round(calmMs)} ms after the last fault
`;
}
