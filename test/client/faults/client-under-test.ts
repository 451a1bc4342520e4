import type { FaultScenario, FaultSpeaking, FaultyAgent } from "../../client-faults/index.ts";
import type { TaskState } from "@convoke/protocol";

/** What the user of a client received at the end. */
export type Outcome =
  | { readonly kind: "answer"; readonly text: string; readonly state?: TaskState }
  | { readonly kind: "error"; readonly error: unknown }
  /** Neither arrived in time. */
  | { readonly kind: "hang"; readonly afterMs: number };

export interface Asking {
  readonly scenario: FaultScenario;
  readonly speaking: FaultSpeaking;
  readonly agent: FaultyAgent;
  /** Fires at the time limit of the whole scenario, so that nothing is left running. */
  readonly over: AbortSignal;
}

/** A client that executes the request of a scenario's user. */
export interface ClientUnderTest {
  readonly name: string;
  speaks(speaking: FaultSpeaking): boolean;
  /** Resolves to the result, or rejects with the client's error. */
  ask(asking: Asking): Promise<Outcome>;
}

/** The abort reason of a caller that gives up. */
const ENOUGH = "the caller has had enough";

/** Aborts when the caller of the scenario gives up, or at the time limit. */
export function signalFor({ scenario, over }: Asking): AbortSignal {
  const { abortMs } = scenario.settings ?? {};
  if (abortMs === undefined) return over;
  const enough = new AbortController();
  const timer = setTimeout(() => enough.abort(new Error(ENOUGH)), abortMs);
  over.addEventListener("abort", () => clearTimeout(timer), { once: true });
  return AbortSignal.any([over, enough.signal]);
}
