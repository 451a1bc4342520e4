import { orAborted } from "@convoke/protocol/internal";
import type { ProbeResult } from "../output/report.ts";
import { type Claim, probeId } from "../probes/probe.ts";
import type { CheckSettings } from "../scene/settings.ts";
import { Failed, Skipped, Transcript } from "../wire/exchange.ts";

/** What a probe runs with. */
export interface ProbeSession {
  readonly signal: AbortSignal;
  readonly transcript: Transcript;
}

/** A probe for one of its claims. */
export interface PlannedProbe {
  readonly probe: { readonly name: string; readonly says: string };
  readonly claim: Claim;
}

/** Called before each probe with the place where it runs. */
export type OnPlannedProbe = (place: string, planned: PlannedProbe) => void;

const CHECKER_ERROR = "the checker itself failed, please report this";

/** Runs one probe within its time limit. Throws only if the user stops the check. */
export async function runProbe(
  planned: PlannedProbe,
  run: (session: ProbeSession) => Promise<void>,
  { timeoutMs, signal }: CheckSettings,
): Promise<ProbeResult> {
  const started = performance.now();
  const transcript = new Transcript();
  // Whatever a probe leaves open, such as a stream that it stopped reading, is closed after it.
  const over = new AbortController();
  const limit = AbortSignal.timeout(timeoutMs);
  const session = { signal: AbortSignal.any([signal, limit, over.signal]), transcript };
  const result = (outcome: OutcomeFields): ProbeResult => ({
    ...factsOf(planned),
    ...outcome,
    durationMs: Math.round(performance.now() - started),
  });
  try {
    await orAborted(run(session), session.signal);
    return result({ outcome: "passed" });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Skipped) return result({ outcome: "skipped", reason: error.message });
    if (error instanceof Failed) {
      const { sent, received } = error.exchange ?? transcript.last;
      return result({ outcome: "failed", sent, received, expected: error.expected });
    }
    if (!limit.aborted) {
      // A bug of ours is not a fault of the server.
      const message = error instanceof Error ? error.message : String(error);
      return result({ outcome: "skipped", reason: `${CHECKER_ERROR}: ${message}` });
    }
    const { sent, received } = transcript.last;
    const expected = `a complete response within ${timeoutMs / 1000} s`;
    return result({
      outcome: "failed",
      sent,
      received: `${received}, then nothing more`,
      expected,
    });
  } finally {
    over.abort();
  }
}

/** The result of a probe that did not run. */
export function skippedResult(planned: PlannedProbe, reason: string): ProbeResult {
  return { ...factsOf(planned), outcome: "skipped", reason, durationMs: 0 };
}

type Facts = Pick<ProbeResult, "id" | "requirement" | "level" | "section" | "says">;
type OutcomeFields = Omit<ProbeResult, keyof Facts | "durationMs">;

function factsOf({ probe, claim }: PlannedProbe): Facts {
  const { requirement, level, section } = claim;
  return { id: probeId(probe, claim), requirement, level, section, says: probe.says };
}
