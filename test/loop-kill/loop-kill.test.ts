import { expect } from "vitest";
import type { Tale, ToolName } from "../crash/tale.ts";
import { randomFrom } from "../harness/random.ts";
import { verifies } from "../verifies.ts";
import { type Performance, play } from "./play.ts";
import { problemsOf } from "./verdict.ts";

// The short form; `npm run test:loop` runs the full size.
const TASKS = Number(process.env["CONVOKE_LOOP_TASKS"] ?? 4);
const KILLS = Number(process.env["CONVOKE_LOOP_KILLS"] ?? 3);
const SEED = Number(process.env["CONVOKE_LOOP_SEED"] ?? Date.now() % 1_000_000);

const WITHIN_MS = 90_000 + 200 * TASKS;

verifies(
  ["G3", "G6", "R113"],
  `${TASKS} tasks of an agent with a model survive ${KILLS} kills with the transcript of an undisturbed run`,
  async () => {
    const random = randomFrom(SEED);
    const tales = Array.from({ length: TASKS }, (_, place) => aTale(place, random));
    const began = performance.now();

    const quiet = await play(tales, { kills: 0, random, withinMs: WITHIN_MS });
    const killed = await play(tales, { kills: KILLS, random, withinMs: WITHIN_MS });

    process.stdout.write(summaryOf(killed, (performance.now() - began) / 1000));
    const problems = killed.played.flatMap((played, place) => {
      const found = problemsOf(played, quiet.played[place]!, KILLS);
      return found.map((problem) => `${played.tale.id}: ${problem}`);
    });
    expect(problems).toEqual([]);
    // The reference itself: without a kill nothing was repeated.
    for (const { tale, requests, effects } of quiet.played) {
      expect(requests).toHaveLength(tale.calls.length + 1);
      expect(effects).toHaveLength(tale.calls.flat().length);
    }
    expect(killed.kills).toBe(KILLS);
    expect(killed.complaints).toBe("");
  },
  4 * WITHIN_MS + 10_000 * KILLS,
);

/** Several answers with one to three calls each, some of which need an approval. */
function aTale(place: number, random: () => number): Tale {
  const some = (names: readonly ToolName[]): readonly ToolName[] =>
    Array.from({ length: 1 + Math.floor(3 * random()) }, () => {
      return names[Math.floor(names.length * random())]!;
    });
  const calls = Array.from({ length: 4 }, () => some(["pay", "pay", "ship"]));
  calls.splice(1 + Math.floor(3 * random()), 0, ["refund", "pay", "refund"]);
  return { id: `tale-${place}`, calls, pauseMs: 20 + Math.floor(60 * random()) };
}

function summaryOf({ played, kills, hits }: Performance, seconds: number): string {
  const requests = played.reduce((sum, each) => sum + each.requests.length, 0);
  const answers = played.reduce((sum, each) => sum + each.tale.calls.length + 1, 0);
  const effects = played.flatMap((each) => each.effects.map(({ by, name }) => `${by} ${name}`));
  const losses = played.reduce((sum, each) => sum + each.caller.losses, 0);
  return `
Kill test of the loop, seed ${SEED}: ${played.length} tasks, ${kills} kills in ${seconds.toFixed(1)} s
  commit in flight   ${hits} of ${kills} kills
  model              ${answers} answers by ${requests} requests
  effects            ${effects.length}, of which ${effects.length - new Set(effects).size} repeated under their key
  connections lost   ${losses}
`;
}
