import { isDeepStrictEqual } from "node:util";
import type { Task } from "@convoke/protocol";
import { describe, expect, onTestFinished } from "vitest";
import { isReset } from "../harness/caller.ts";
import { Phases, runThroughKills } from "../harness/phases.ts";
import { Receiver } from "../harness/receiver.ts";
import type { StoredTask } from "../harness/stored-tasks.ts";
import { foldLog, shownIn } from "../harness/task-log.ts";
import { Client } from "../kill-all/client.ts";
import { type Job, KINDS } from "../kill-all/jobs.ts";
import { problemsOf, problemsOfStored } from "../kill-all/verdict.ts";
import { needs } from "../needs.ts";
import { verifies } from "../verifies.ts";
import { DatabasePair } from "./database-pair.ts";
import { Replicas } from "./replicas.ts";
import { problemsOfTables } from "./tables.ts";

const SERVERS = 3;
const TASKS = 24;
const LEASE_MS = 1000;

/** Shorter than the leases, and so long that all of them are over. */
const DOWN_MS = [0, 2 * LEASE_MS];

/** How long the tasks may take after the failover: some ten times what they need. */
const WITHIN_MS = 120_000;

describe.each(DOWN_MS)("servers whose database fails over after %i ms", (downMs) => {
  const program = needs("postgres");

  verifies(
    ["G1", "G2", "G3", "G4", "G6"],
    "lose nothing if the standby is synchronous, and none takes over the tasks of another",
    async () => {
      const pair = await aPair(true);
      const world = await aWorld(pair, KINDS);

      await world.run(async () => {
        await world.untilRead(5);
        await pair.failOver(downMs);
      });

      const stored = await world.stored();
      const effects = Map.groupBy(await world.receiver.effects(), ({ by }) => by);
      const problems = world.problems((client) => {
        const { taskId = "", messageId } = client.caller;
        return problemsOf(client, stored.get(taskId), effects.get(messageId) ?? []);
      });
      expect([...problems, ...problemsOfTables(pair)]).toEqual([]);
      expect(takeoversIn(stored)).toEqual([]);
    },
    2 * WITHIN_MS,
  );

  verifies(
    ["G2", "G3", "G4"],
    "continue from what is left if the standby was behind, and so do their clients",
    async () => {
      const pair = await aPair(false);
      // A client that had the end of its task before does not ask again.
      const world = await aWorld(
        pair,
        KINDS.filter((kind) => kind !== "plain"),
      );

      await world.run(async () => {
        await world.untilRead(5);
        pair.stopReplication();
        // These events will be lost.
        await world.untilRead(10);
        await pair.failOver(downMs);
      });

      const stored = await world.stored();
      const problems = world.problems((client) => {
        const { caller } = client;
        const task = stored.get(caller.taskId ?? "");
        if (task === undefined) return ["the task is lost"];
        const isReached = isDeepStrictEqual(endOf(caller.task), endOf(foldLog(shownIn(task.log))));
        return [
          ...problemsOfStored(client, task),
          ...(isReached ? [] : ["the client has another task than the log"]),
          ...(caller.frames.some(({ event }) => isReset(event)) ? [] : ["the client is not reset"]),
        ];
      });
      expect([...problems, ...problemsOfTables(pair)]).toEqual([]);
    },
    2 * WITHIN_MS,
  );

  async function aPair(isSynchronous: boolean): Promise<DatabasePair> {
    const pair = await DatabasePair.start({ program: program(), isSynchronous });
    onTestFinished(() => pair.stop());
    return pair;
  }
});

/** Servers on a database, and a client for each of several tasks. */
class FailoverWorld {
  readonly receiver: Receiver;
  readonly #replicas: Replicas;
  readonly #clients: readonly Client[];

  constructor(receiver: Receiver, replicas: Replicas, kinds: readonly Job["kind"][]) {
    this.receiver = receiver;
    this.#replicas = replicas;
    this.#clients = Array.from({ length: TASKS }, (_, n) => {
      const kind = kinds[n % kinds.length]!;
      return new Client(replicas, `job-${n}`, { kind, until: 1, restMs: 50 });
    });
  }

  /** Runs all tasks to their end. Those that work in rounds end after the failover. */
  async run(failOver: () => Promise<void>): Promise<void> {
    const phases = new Phases((phase) => this.receiver.enter(phase));
    await runThroughKills({
      kills: 1,
      kill: failOver,
      phases,
      runs: this.#clients.map((client) => () => client.run((wanted) => phases.reach(wanted))),
      staggered: false,
      withinMs: WITHIN_MS,
    });
  }

  /** Resolves when each client of a task that works in rounds has read this many events more. */
  async untilRead(count: number): Promise<void> {
    const working = this.#clients.filter(({ job }) => job.kind !== "plain");
    await Promise.all(
      working.map(({ caller }) => caller.hasMoreThan(caller.frames.length + count)),
    );
  }

  /** Ends the servers, and returns what they have stored. */
  async stored(): Promise<ReadonlyMap<string, StoredTask>> {
    const tasks = await this.#replicas.stored();
    return new Map(tasks.map((task) => [task.record.taskId, task]));
  }

  problems(problemsOfOne: (client: Client) => readonly string[]): readonly string[] {
    return this.#clients.flatMap((client) =>
      problemsOfOne(client).map(
        (problem) => `${client.caller.messageId} (${client.job.kind}): ${problem}`,
      ),
    );
  }
}

async function aWorld(pair: DatabasePair, kinds: readonly Job["kind"][]): Promise<FailoverWorld> {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const replicas = await Replicas.start({
    count: SERVERS,
    databaseUrl: pair.url,
    leaseMs: LEASE_MS,
    script: new URL("./replica-server.ts", import.meta.url),
    env: { CONVOKE_RECEIVER: receiver.url, CONVOKE_RESTART: "yes" },
    random: Math.random,
  });
  onTestFinished(() => replicas.close());
  return new FailoverWorld(receiver, replicas, kinds);
}

/** Where a server has started a turn again because it took another one for gone. */
function takeoversIn(stored: ReadonlyMap<string, StoredTask>): readonly object[] {
  const events = [...stored.values()].flatMap(({ log }) => log.map(({ event }) => event));
  return events.filter((event) => event.kind === "internal:attempt" && "crashes" in event);
}

/** The end of a task as its client sees it, without the messages that the client sent. */
function endOf({ status, artifacts }: Task): object {
  return { status, artifacts };
}
