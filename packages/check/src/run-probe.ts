import type { Claim } from "./claim.ts";
import type { ProbeResult } from "./report.ts";
import type { CheckSettings } from "./settings.ts";
import { Failed, Skipped } from "./verdict.ts";
import { Transcript } from "./wire/transcript.ts";

/** What a probe is run with. */
interface Attempt {
  readonly signal: AbortSignal;
  readonly transcript: Transcript;
}

interface Trial {
  readonly id: string;
  readonly says: string;
  readonly claim: Claim;
  readonly run: (attempt: Attempt) => Promise<void>;
}

const STUMBLED = "the checker stumbled over this, please report it";

/** Runs one probe within its time, and says what came of it. Only a stop by the user throws. */
export async function runProbe(
  { id, says, claim, run }: Trial,
  { timeoutMs, signal }: CheckSettings,
): Promise<ProbeResult> {
  const { requirement, level, section } = claim;
  const facts = { id, requirement, level, section, says };
  const begun = performance.now();
  const transcript = new Transcript();
  // What a probe left open, such as a stream that it has read enough of, ends with it.
  const over = new AbortController();
  const limit = AbortSignal.timeout(timeoutMs);
  const attempt = { signal: AbortSignal.any([signal, limit, over.signal]), transcript };
  const result = (rest: Omit<ProbeResult, keyof typeof facts | "durationMs">): ProbeResult => ({
    ...facts,
    ...rest,
    durationMs: Math.round(performance.now() - begun),
  });
  try {
    await Promise.race([run(attempt), aborted(attempt.signal)]);
    return result({ outcome: "passed" });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Skipped) return result({ outcome: "skipped", reason: error.message });
    if (error instanceof Failed) {
      const { sent, received } = error.exchange ?? transcript.last;
      return result({ outcome: "failed", sent, received, expected: error.expected });
    }
    if (!limit.aborted) {
      // A mistake of ours is no fault of the server.
      const told = error instanceof Error ? error.message : String(error);
      return result({ outcome: "skipped", reason: `${STUMBLED}: ${told}` });
    }
    const { sent, received } = transcript.last;
    const expected = `all of it within ${timeoutMs / 1000} s`;
    return result({ outcome: "failed", sent, received: `${received}, and no more`, expected });
  } finally {
    over.abort();
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}
