import { Transcript } from "../wire/transcript.ts";
import { Scene, type Stage } from "./scene.ts";

/** Cancels what probes left unfinished: nobody will answer those questions. What fails is left. */
export async function cancelLeftovers(stage: Stage): Promise<void> {
  const { signal, timeoutMs } = stage.settings;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const scene = new Scene(stage, { signal: limit, transcript: new Transcript() });
  for (const taskId of new Set(stage.leftovers)) {
    try {
      await scene.call("cancelTask", scene.requests.cancel(taskId));
    } catch {
      // It has been tried, and what became of it is no matter of the check.
    }
    if (limit.aborted) return;
  }
}
