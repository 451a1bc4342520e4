import { setTimeout as sleep } from "node:timers/promises";
import {
  type FaultScenario,
  type FaultSpeaking,
  type FaultyAgent,
  startFaultyAgent,
} from "../../client-faults/index.ts";
import type { ClientUnderTest, Outcome } from "./client-under-test.ts";

/** Time limit for a response in any scenario. */
const BOUND_MS = 30_000;

export interface RunOptions {
  readonly scenario: FaultScenario;
  readonly speaking: FaultSpeaking;
  readonly client: ClientUnderTest;
  /** A certificate for `localhost`. */
  readonly tls: { readonly cert: string; readonly key: string };
  /** The real agent, as a fetch handler. */
  readonly behind: (request: Request) => Promise<Response>;
}

export interface Ran {
  readonly outcome: Outcome;
  readonly tookMs: number;
  /** The number of connections that stayed open after the client had finished. */
  readonly leaked: number;
  readonly agent: FaultyAgent;
}

/** Runs a client against the agent of a scenario, and checks what it leaves behind. */
export async function runScenario({
  scenario,
  speaking,
  client,
  tls,
  behind,
}: RunOptions): Promise<Ran> {
  const agent = await startFaultyAgent(scenario, { speaking, tls, behind });
  const over = new AbortController();
  const boundMs = scenario.boundMs ?? BOUND_MS;
  const startedAt = performance.now();
  try {
    const asked = client
      .ask({ scenario, speaking, agent, over: over.signal })
      .catch((error: unknown): Outcome => ({ kind: "error", error }));
    const bound = sleep<Outcome>(
      boundMs,
      { kind: "hang", afterMs: boundMs },
      { signal: over.signal },
    );
    bound.catch(() => undefined);
    const outcome = await Promise.race([asked, bound]);
    const tookMs = performance.now() - startedAt;
    return { outcome, tookMs, leaked: await openAfter(agent, 20_000), agent };
  } finally {
    over.abort(new Error("the scenario is over"));
    await agent.close();
  }
}

/** The number of open connections after a while; resolves early if there are none. */
async function openAfter(agent: { readonly openConnections: number }, ms: number): Promise<number> {
  const until = performance.now() + ms;
  while (agent.openConnections > 0 && performance.now() < until) await sleep(10);
  return agent.openConnections;
}
