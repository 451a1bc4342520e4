import { expect } from "vitest";
import { type Moment, MortalServer } from "../harness/mortal-server.ts";
import { Phases, runThroughKills } from "../harness/phases.ts";
import { Receiver } from "../harness/receiver.ts";
import { verifies } from "../verifies.ts";
import { Client } from "./client.ts";
import { type Job, KINDS } from "./jobs.ts";
import { randomFrom } from "../harness/random.ts";
import { problemsOf } from "./verdict.ts";
import type { Effect } from "../harness/effect.ts";
import type { StoredTask } from "../harness/stored-tasks.ts";

// The short form; `npm run test:kill` runs the full size.
const TASKS = Number(process.env["CONVOKE_KILL_TASKS"] ?? 25);
const KILLS = Number(process.env["CONVOKE_KILL_COUNT"] ?? 4);
const SEED = Number(process.env["CONVOKE_KILL_SEED"] ?? Date.now() % 1_000_000);

/** About twenty rounds for a task that lasts to the end. */
const REST_MS = 50 * KILLS;

/** One task in this many lasts until the last kill, so that every kill hits some. */
const LASTING = 8;

/** One kill in this many does not wait for a commit: it may also hit a server that is starting. */
const BLIND = 10;

/** How long the last tasks may take after the last kill. */
const WITHIN_MS = 90_000 + 20 * TASKS;

verifies(
  ["G1", "G2", "G3", "G4", "G5", "G6", "G10"],
  `${TASKS} tasks survive ${KILLS} kills`,
  async () => {
    const random = randomFrom(SEED);
    const receiver = await Receiver.start();
    const server = aServer(receiver.url);
    const phases = new Phases((phase) => receiver.enter(phase));
    try {
      void server.start();
      const clients = Array.from(
        { length: TASKS },
        (_, n) => new Client(server, `job-${n}`, aJob(n, random)),
      );

      const seconds = await runThroughKills({
        kills: KILLS,
        kill: (kill) => server.killAt(aMoment(kill, random)),
        phases,
        runs: clients.map((client) => () => client.run((wanted) => phases.reach(wanted))),
        staggered: false,
        withinMs: WITHIN_MS,
      });

      const stored = new Map((await server.stored()).map((task) => [task.record.taskId, task]));
      const effects = Map.groupBy(await receiver.effects(), ({ by }) => by);
      const problems = clients.flatMap((client) => {
        const { taskId = "", messageId } = client.caller;
        const found = problemsOf(client, stored.get(taskId), effects.get(messageId) ?? []);
        return found.map((problem) => `${messageId} (${client.job.kind}): ${problem}`);
      });

      process.stdout.write(
        summaryOf({ seed: SEED, clients, server, stored: [...stored.values()], effects, seconds }),
      );
      expect(problems).toEqual([]);
      expect(stored.size).toBe(TASKS);
      expect(server.kills).toBe(KILLS);
      // On a busy machine some of a few kills may miss their moment.
      expect(server.hits / server.kills).toBeGreaterThanOrEqual(KILLS < 50 ? 0.4 : 0.8);
      expect(server.complaints).toBe("");
    } finally {
      await server.close();
      await receiver.stop();
    }
  },
  2 * WITHIN_MS + 10_000 * KILLS,
);

function aJob(n: number, random: () => number): Job {
  const kind = KINDS[n % KINDS.length]!;
  const until = n % LASTING === 0 ? KILLS : Math.floor(random() * (KILLS + 1));
  return { kind, until, restMs: Math.round(REST_MS * (0.5 + random())) };
}

function aServer(receiverUrl: string): MortalServer {
  return new MortalServer({
    script: new URL("./kill-server.ts", import.meta.url),
    env: (before) => ({
      CONVOKE_RECEIVER: receiverUrl,
      // Usually a task without a journal starts over after a kill; occasionally it is failed.
      CONVOKE_RESTART: before % 10 === 4 ? "no" : "yes",
    }),
  });
}

function aMoment(kill: number, random: () => number): Moment {
  const isBlind = kill % BLIND === 0;
  return isBlind
    ? { since: "start", afterMs: 1000 * random(), atCommit: false }
    : { since: "ready", afterMs: 300 * random(), atCommit: true };
}

/** The figures of a run, to print. */
function summaryOf(facts: {
  readonly seed: number;
  readonly clients: readonly Client[];
  readonly server: MortalServer;
  readonly stored: readonly StoredTask[];
  readonly effects: ReadonlyMap<string, readonly Effect[]>;
  readonly seconds: number;
}): string {
  const { seed, clients, server, stored, effects, seconds } = facts;
  const { kills, hits, startsMs } = server;
  const states = Map.groupBy(stored, ({ record }) => record.state);
  const ends = [...states].map(([state, tasks]) => `${tasks.length} ${state}`).join(", ");
  const sum = (counts: readonly number[]): number => counts.reduce((total, n) => total + n, 0);
  const all = [...effects.values()].flat();
  const repeated = all.length - new Set(all.map(({ by, name }) => `${by} ${name}`)).size;
  const starts = startsMs.toSorted((a, b) => a - b);
  const start = (share: number): string =>
    `${Math.round(starts[Math.floor(share * (starts.length - 1))] ?? 0)} ms`;
  return `
Kill test, seed ${seed}: ${clients.length} tasks, ${kills} kills in ${seconds.toFixed(1)} s
  commit in flight   ${hits} of ${kills} kills (${Math.round((100 * hits) / kills)} %)
  ends               ${ends}
  events             ${sum(stored.map(({ log }) => log.length))} in the logs, ${sum(clients.map(({ caller }) => caller.frames.length))} frames read
  connections lost   ${sum(clients.map(({ caller }) => caller.losses))}
  effects            ${all.length}, of which ${repeated} repeated under their key
  ready after        ${start(0.5)} (median), ${start(1)} (longest)
`;
}
