import { isTerminal } from "@convoke/protocol";
import { Caller } from "../harness/caller.ts";
import type { Effect } from "../harness/effect.ts";
import { ModelServer } from "../crash/model-server.ts";
import { MortalServer } from "../harness/mortal-server.ts";
import { Phases, runThroughKills } from "../harness/phases.ts";
import { Receiver } from "../harness/receiver.ts";
import type { StoredTask } from "../harness/stored-tasks.ts";
import type { AskedOfModel, Tale } from "../crash/tale.ts";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";

/** What is stored of one task. */
export interface Played {
  readonly tale: Tale;
  readonly stored: StoredTask | undefined;
  /** The requests to the model. */
  readonly requests: readonly AskedOfModel[];
  readonly effects: readonly Effect[];
  readonly caller: Caller;
}

export interface Performance {
  readonly played: readonly Played[];
  readonly kills: number;
  /** Kills that hit a commit in flight. */
  readonly hits: number;
  readonly complaints: string;
}

export interface PlayOptions {
  readonly kills: number;
  readonly random: () => number;
  /** How long the last tasks may take after the last kill. */
  readonly withinMs: number;
}

/**
 * Runs the tasks on a server that is killed this often, with a model and a receiver that are not.
 */
export async function play(
  tales: readonly Tale[],
  { kills, random, withinMs }: PlayOptions,
): Promise<Performance> {
  const [receiver, model] = await Promise.all([Receiver.start(), ModelServer.start()]);
  const server = new MortalServer({
    script: new URL("./loop-kill-server.ts", import.meta.url),
    env: () => ({ CONVOKE_RECEIVER: receiver.url, CONVOKE_MODEL: model.spec }),
  });
  try {
    void server.start();
    const callers = tales.map((tale) => new Caller(server, tale.id, JSON.stringify(tale)));
    await runThroughKills({
      kills,
      kill: () => server.killAt({ since: "ready", afterMs: 150 + 450 * random(), atCommit: true }),
      phases: new Phases((phase) => receiver.enter(phase)),
      runs: callers.map((caller) => () => seeThrough(caller)),
      staggered: true,
      withinMs,
    });

    const stored = new Map((await server.stored()).map((task) => [task.record.taskId, task]));
    const effects = Map.groupBy(await receiver.effects(), ({ by }) => by);
    const requests = Map.groupBy(await model.requests(), ({ id }) => id);
    const played = tales.map((tale, place): Played => {
      const caller = callers[place]!;
      const { taskId = "" } = caller;
      return {
        tale,
        stored: stored.get(taskId),
        requests: requests.get(tale.id) ?? [],
        effects: effects.get(taskId) ?? [],
        caller,
      };
    });
    const { hits, complaints } = server;
    return { played, kills: server.kills, hits, complaints };
  } finally {
    await server.close();
    await Promise.all([receiver.stop(), model.stop()]);
  }
}

/**
 * Sends the message, approves every request, and reads to the end, across any restart of the
 * server.
 */
async function seeThrough(caller: Caller): Promise<void> {
  while (!isTerminal(await caller.follow())) {
    const approvals = openApprovals(caller.task);
    const parts = approvals.map((approval) => answerTo(approval, { option: "once" }));
    await caller.answer(caller.taskId!, parts, approvals.map(({ id }) => id).join());
  }
}
