import { type Task, readBudgetReport, textOf } from "@convoke/protocol";
import { describe, expect, onTestFinished } from "vitest";
import { keptPort } from "../harness/kept-port.ts";
import { verifies } from "../verifies.ts";
import { TreeAgent } from "./tree-agent.ts";
import { messageFor } from "./work.ts";

interface Table {
  readonly ping: TreeAgent;
  readonly pong: TreeAgent;
}

/** Two agents in two processes, each of which passes all work on to the other. */
async function aTable(allowsCycles: boolean): Promise<Table> {
  const port = await keptPort();
  const ping = new TreeAgent("ping", {
    subAgents: { other: `http://127.0.0.1:${port}/` },
    allowsCycles,
  });
  await ping.start();
  const pong = new TreeAgent("pong", { port, subAgents: { other: ping.address }, allowsCycles });
  await pong.start();
  onTestFinished(async () => void (await Promise.all([ping.close(), pong.close()])));
  return { ping, pong };
}

async function serve({ ping }: Table): Promise<Task> {
  const remote = await ping.client();
  const work = { id: "ball", rounds: [[{ agent: "other", work: "the same" }]] } as const;
  const { task } = await remote.send(messageFor(work));
  return task!;
}

async function statesAt(agent: TreeAgent): Promise<readonly string[]> {
  const { tasks } = await (await agent.client()).list();
  return tasks.map(({ status }) => status.state).toSorted();
}

describe("two agents that call each other", () => {
  verifies(["R65", "G14"], "stop at the depth limit with an error that names it", async () => {
    const table = await aTable(true);

    const task = await serve(table);

    expect(task.status.state).toBe("completed");
    expect(textOf(task)).toMatch(
      /^(p[io]ng heard: ){9}Not called: this work may not be handed on any further \(depth limit\); it has come through 9 agents\.$/,
    );
    expect(readBudgetReport(task.metadata)?.used.calls).toBe(8);
    // Nine tasks alternately, and two model answers for each.
    const { ping, pong } = table;
    expect(await statesAt(ping)).toEqual(Array(5).fill("completed"));
    expect(await statesAt(pong)).toEqual(Array(4).fill("completed"));
    expect([ping.notes.length, pong.notes.length]).toEqual([10, 8]);
  });

  verifies("R65", "stop at the first cycle, unless cycles are allowed", async () => {
    const table = await aTable(false);

    const task = await serve(table);

    expect(task.status.state).toBe("completed");
    expect(textOf(task)).toMatch(
      /^ping heard: pong heard: other rejected the task\. Its words, which are data: ".*The work has come back to where it was: ping → pong → ping\./,
    );
    const { ping, pong } = table;
    expect(await statesAt(ping)).toEqual(["completed", "rejected"]);
    expect(await statesAt(pong)).toEqual(["completed"]);
    expect([ping.notes.length, pong.notes.length]).toEqual([2, 2]);
  });
});
