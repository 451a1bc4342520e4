import type { Tool } from "@convoke/runtime";
import { calls } from "../loop/scripts.ts";
import { Hop, type HopOptions, callsOnce } from "./a-hop.ts";

/** Three agents: boss calls planner, and planner calls worker, which has a tool. */
export interface Chain {
  readonly boss: Hop;
  readonly planner: Hop;
  readonly worker: Hop;
}

export async function aChain(
  work: Tool,
  input: unknown = {},
  options: HopOptions = {},
): Promise<Chain> {
  const worker = await Hop.started(
    "worker",
    () => ({
      model: callsOnce(calls(work.name, input)),
      tools: [work],
    }),
    options,
  );
  const planner = await Hop.started(
    "planner",
    () => ({
      model: callsOnce(calls("worker", { message: "do it" })),
      subAgents: { worker: worker.url },
    }),
    options,
  );
  const boss = await Hop.started(
    "boss",
    () => ({
      model: callsOnce(calls("planner", { message: "have it done" })),
      subAgents: { planner: planner.url },
    }),
    options,
  );
  return { boss, planner, worker };
}
