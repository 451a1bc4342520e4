import { statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { Phases, runThroughKills } from "../harness/phases.ts";
import { randomFrom } from "../harness/random.ts";
import { verifies } from "../verifies.ts";
import { Tree } from "./a-tree.ts";
import { KillDriver } from "./kill-driver.ts";
import { aPlan } from "./kill-plan.ts";
import { type Left, problemsOf } from "./kill-verdict.ts";
import type { TreeAgent } from "./tree-agent.ts";

// The short form; `npm run test:tree` runs the full size.
const TASKS = Number(process.env["CONVOKE_TREE_TASKS"] ?? 4);
const KILLS = Number(process.env["CONVOKE_TREE_KILLS"] ?? 3);
const SEED = Number(process.env["CONVOKE_TREE_SEED"] ?? Date.now() % 1_000_000);

/** How long the last tasks may take after the last kill. */
const WITHIN_MS = 90_000 + 300 * TASKS;
/** An agent that does nothing for this long is killed anyway. */
const IDLE_MS = 500;

verifies(
  ["G3", "G10", "R62", "R65", "R113"],
  `${TASKS} tasks of a chain of three agents survive ${KILLS} kills of any of them, and no agent is called twice`,
  async () => {
    const random = randomFrom(SEED);
    await using tree = await Tree.start(["root", "middle", "leaf"]);
    const drivers = Array.from(
      { length: TASKS },
      (_, place) => new KillDriver(tree.root, aPlan(place, random)),
    );
    const started = new Map(tree.agents.map((agent) => [agent, Promise.resolve()]));
    const killOne = async (): Promise<void> => {
      const victim = tree.agents[Math.floor(3 * random())]!;
      await started.get(victim);
      await sleep(400 * random());
      // When the agent below starts something, its caller has not been notified yet.
      if (random() < 0.5) await hasDone(below(tree, victim));
      await victim.kill();
      started.set(victim, victim.start());
    };

    const seconds = await runThroughKills({
      kills: KILLS,
      kill: killOne,
      phases: new Phases(),
      runs: drivers.map((driver) => () => driver.run()),
      staggered: true,
      settled: async () => {
        await Promise.all(started.values());
        await tree.isQuiet();
      },
      withinMs: WITHIN_MS,
    });

    await Promise.all(tree.agents.map((agent) => agent.kill()));
    const left = await Promise.all(
      tree.agents.map(async (agent): Promise<Left> => {
        return { name: agent.name, stored: await agent.stored(), notes: agent.notes };
      }),
    );
    process.stdout.write(summaryOf(drivers, left, seconds));
    expect(problemsOf(drivers, left)).toEqual([]);
    // Warnings that another agent is unreachable are expected.
    expect(tree.agents.map(({ complaints }) => complaints).join("")).not.toContain(
      '"level":"error"',
    );
  },
  2 * WITHIN_MS + 10_000 * KILLS,
);

function below({ agents }: Tree, agent: TreeAgent): TreeAgent {
  return agents[agents.indexOf(agent) + 1] ?? agent;
}

/** Resolves when an agent records something. */
async function hasDone({ notesFile }: TreeAgent): Promise<void> {
  const size = (): number => statSync(notesFile, { throwIfNoEntry: false })?.size ?? 0;
  const before = size();
  const deadline = performance.now() + IDLE_MS;
  while (size() === before && performance.now() < deadline) await sleep(1);
}

function summaryOf(
  drivers: readonly KillDriver[],
  agents: readonly Left[],
  seconds: number,
): string {
  const asked = drivers.reduce((sum, driver) => sum + driver.asked, 0);
  const losses = drivers.reduce((sum, { caller }) => sum + caller.losses, 0);
  const tasks = agents.map(({ name, stored }) => `${name} ${stored.length}`);
  const answers = agents.map(
    ({ name, notes }) => `${name} ${notes.filter(({ what }) => what === "model").length}`,
  );
  return `
Kill test of a tree, seed ${SEED}: ${drivers.length} tasks, ${KILLS} kills in ${seconds.toFixed(1)} s
  tasks              ${tasks.join(", ")}
  requests           ${answers.join(", ")}
  approvals          ${asked}
  connections lost   ${losses}
`;
}
