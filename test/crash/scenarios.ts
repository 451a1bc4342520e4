import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { type AgentDefinition, type FunctionTurn, StepUnknownError } from "@convoke/runtime";

/** The effects of the agents of these tests; `pay` has an idempotency key, `ship` has none. */
export interface World {
  pay(turn: FunctionTurn, key: string): Promise<void>;
  ship(turn: FunctionTurn): Promise<void>;
  /** Outside any step: what an agent does when it is aborted. */
  tidyUp(turn: FunctionTurn): Promise<void>;
}

type Run = (turn: FunctionTurn, world: World) => ReturnType<AgentDefinition["run"]>;

/** What the agent does, by the text it receives. */
export const SCENARIOS = {
  /** Two steps and a chunk. */
  step: async (turn, world) => {
    await pay(turn, world);
    return `paid, ${await ship(turn, world)}`;
  },

  /** Many chunks, with one step before and one among them. */
  async *stream(turn, world) {
    await pay(turn, world);
    yield* count(turn, 0, 10);
    yield `(${await ship(turn, world)}) `;
    yield* count(turn, 10, 20);
  },

  /** A question between two steps. */
  async *ask(turn, world) {
    await pay(turn, world);
    yield "May I? ";
    const answer = await turn.ask("Ship it?", ["yes", "no"]);
    yield `${answer}: ${await ship(turn, world)}`;
  },

  /** A step that lasts until the agent is aborted, followed by a cleanup. */
  async *cancel(turn, world) {
    await pay(turn, world);
    yield "waiting";
    await turn.step(
      "wait",
      async () => {
        const { signal } = turn;
        if (!signal.aborted) await once(signal, "abort");
      },
      { idempotent: true },
    );
    await world.tidyUp(turn);
  },
} as const satisfies Record<string, Run>;

export type Scenario = keyof typeof SCENARIOS;

async function pay(turn: FunctionTurn, world: World): Promise<void> {
  await turn.step("pay", ({ key }) => world.pay(turn, key));
}

/** Its outcome: after a crash it may be unknown. */
async function ship(turn: FunctionTurn, world: World): Promise<string> {
  try {
    await turn.step("ship", () => world.ship(turn));
    return "shipped";
  } catch (error) {
    if (error instanceof StepUnknownError) return "unknown";
    throw error;
  }
}

/** Each number is a commit of its own, and has time to reach its readers. */
async function* count(turn: FunctionTurn, from: number, to: number): AsyncGenerator<string> {
  for (let number = from; number < to; number++) {
    yield `${number} `;
    await turn.durable();
    await sleep(2);
  }
}
