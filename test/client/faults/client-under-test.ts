import type { FaultScenario, FaultSpeaking, FaultyAgent } from "../../client-faults/index.ts";
import type { TaskState } from "@convoke/protocol";

/** What the user of a client got in the end. */
export type Outcome =
  | { readonly kind: "answer"; readonly text: string; readonly state?: TaskState }
  | { readonly kind: "error"; readonly error: unknown }
  /** Neither came in time. */
  | { readonly kind: "hang"; readonly afterMs: number };

export interface Asking {
  readonly scenario: FaultScenario;
  readonly speaking: FaultSpeaking;
  readonly agent: FaultyAgent;
  /** Says that the time of the whole scenario is over, so that nothing is left behind. */
  readonly over: AbortSignal;
}

/** A client that is asked for what the user of a scenario wants. */
export interface ClientUnderTest {
  readonly name: string;
  speaks(speaking: FaultSpeaking): boolean;
  /** Gives what came, or throws what the client threw. */
  ask(asking: Asking): Promise<Outcome>;
}

/** What the caller says who has had enough. */
const ENOUGH = "the caller has had enough";

/** Aborts when the caller of the scenario has had enough, or its time is over. */
export function signalFor({ scenario, over }: Asking): AbortSignal {
  const { abortMs } = scenario.settings ?? {};
  if (abortMs === undefined) return over;
  const enough = new AbortController();
  const timer = setTimeout(() => enough.abort(new Error(ENOUGH)), abortMs);
  over.addEventListener("abort", () => clearTimeout(timer), { once: true });
  return AbortSignal.any([over, enough.signal]);
}
