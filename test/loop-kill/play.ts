import { setTimeout as sleep } from "node:timers/promises";
import { type Task, applyEvent, isTerminal } from "@convoke/protocol";
import { Caller } from "../crash/caller.ts";
import type { Effect } from "../crash/effect.ts";
import { ModelServer } from "../crash/model-server.ts";
import { Receiver } from "../crash/receiver.ts";
import type { StoredTask } from "../crash/stored-logs.ts";
import type { AskedOfModel, Tale } from "../crash/tale.ts";
import { NineLives } from "../kill-all/nine-lives.ts";
import { Phases } from "../kill-all/phases.ts";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";

/** What is left of one task. */
export interface Played {
  readonly tale: Tale;
  readonly stored: StoredTask | undefined;
  /** What the model was asked for it. */
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
  /** How long the last tasks may take when nobody disturbs them any more. */
  readonly patienceMs: number;
}

/** Plays the tales on a server of their own that is killed so often, with a model and a world that are not. */
export async function play(
  tales: readonly Tale[],
  { kills, random, patienceMs }: PlayOptions,
): Promise<Performance> {
  const [receiver, model] = await Promise.all([Receiver.start(), ModelServer.start()]);
  const script = new URL("./loop-kill-server.ts", import.meta.url);
  const server = new NineLives(receiver.url, script, { CONVOKE_MODEL: model.spec });
  const phases = new Phases(receiver);
  try {
    const callers = tales.map((tale) => new Caller(server, tale.id, JSON.stringify(tale)));
    const ran = Promise.all(
      callers.map(async (caller, place) => {
        // They begin one after the other, so that every kill hits some in their midst.
        await phases.reach(Math.floor((place * kills) / tales.length));
        await seeThrough(caller);
      }),
    );
    ran.catch(() => undefined);
    for (let kill = 1; kill <= kills; kill++) {
      await server.kill({ since: "ready", afterMs: 150 + 450 * random(), atCommit: true });
      await phases.enter(kill);
    }
    // Whoever is not through by then is told by name.
    await Promise.race([ran, sleep(patienceMs, undefined, { ref: false })]);

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

/** Sends the tale, approves what is asked, and reads to the end, whatever happens to the server. */
async function seeThrough(caller: Caller): Promise<void> {
  while (!isTerminal(await caller.follow())) {
    const approvals = openApprovals(taskOf(caller));
    const parts = approvals.map((approval) => answerTo(approval, { option: "once" }));
    await caller.answer(caller.taskId!, parts, approvals.map(({ id }) => id).join());
  }
}

function taskOf({ frames }: Caller): Task {
  return frames.reduce<Task | undefined>((task, { event }) => applyEvent(task, event), undefined)!;
}
