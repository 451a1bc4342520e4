import { type Turn, textOfParts } from "@convoke/protocol";
import { type Ask, createAsk, guarded } from "./ask.ts";
import { artifact, complete, fail, reject, reply, status } from "./function-output.ts";
import { Journal } from "./journal.ts";
import { type Step, Steps } from "./steps.ts";
import { NoAnswerError, type RunHooks, Waits } from "./waits.ts";

/** The argument of a function agent's `run`. */
export interface FunctionTurn extends Turn {
  /** The text of the message. */
  readonly text: string;
  /**
   * Runs something once. A finished step never runs again: after a crash the function starts from
   * the top, and finished steps return their recorded results. The result must be JSON.
   */
  readonly step: Step;
  /** Asks the caller and waits for the answer. */
  readonly ask: Ask;
  /**
   * Reports that the caller must authorize something first, and waits for the caller's next
   * message.
   */
  readonly authRequired: (text: string) => Promise<string>;
  /** Waits for a time. A restart does not extend the wait. */
  readonly sleep: (ms: number) => Promise<void>;
  readonly status: typeof status;
  readonly artifact: typeof artifact;
  readonly reply: typeof reply;
  readonly complete: typeof complete;
  readonly reject: typeof reject;
  readonly fail: typeof fail;
}

/** Adds the helpers for function agents to a turn. */
export function createFunctionTurn(turn: Turn, hooks: RunHooks): FunctionTurn {
  const journal = new Journal(turn.journal);
  const steps = new Steps(turn, journal, hooks);
  const waits = new Waits(turn, journal, hooks);
  const step: Step = (name, body, options) => guarded("step", steps.run(name, body, options));
  return {
    ...turn,
    text: textOfParts(turn.message.parts),
    step,
    ask: createAsk(waits),
    authRequired: (text) => guarded("authRequired", signedIn(waits, text)),
    sleep: (ms) => guarded("sleep", waits.forTime(ms)),
    status,
    artifact,
    reply,
    complete,
    reject,
    fail,
  };
}

async function signedIn(waits: Waits, prompt: string): Promise<string> {
  try {
    return await waits.forCaller({ state: "auth-required", prompt }, async ({ parts }) => ({
      ok: true,
      value: textOfParts(parts),
    }));
  } catch (error) {
    if (error instanceof NoAnswerError) return "";
    throw error;
  }
}
