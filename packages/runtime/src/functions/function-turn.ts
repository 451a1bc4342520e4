import { type AgentEvent, type TaskState, type Turn, textOfParts } from "@convoke/protocol";
import { Journal } from "./journal.ts";
import { artifact, fail, reject, reply, status } from "./said.ts";
import { type StepContext, type StepOptions, Steps } from "./steps.ts";
import { Waits } from "./waits.ts";

/** What a function agent's `run` gets. */
export interface FunctionTurn extends Turn {
  /** The text of the message. */
  readonly text: string;
  /**
   * Does something once. A finished step is never run again: after a crash the
   * function runs from the top, and finished steps return what they returned.
   */
  readonly step: <T>(
    name: string,
    body: (context: StepContext) => T | Promise<T>,
    options?: StepOptions,
  ) => Promise<T>;
  /**
   * Asks the caller and waits for the answer, for as long as it takes: a question
   * survives restarts. With choices, it asks again until the answer is one of
   * them, and returns that one. Where the agent has an input timeout that
   * continues, no answer in time is "".
   */
  readonly ask: (question: string, choices?: readonly string[]) => Promise<string>;
  /** Says that the caller must authorize something first, and waits for its next message. */
  readonly authRequired: (text: string) => Promise<string>;
  /** Waits; a restart does not make it longer. */
  readonly sleep: (ms: number) => Promise<void>;
  readonly status: typeof status;
  readonly artifact: typeof artifact;
  readonly reply: typeof reply;
  readonly reject: typeof reject;
  readonly fail: typeof fail;
}

/** Dresses a turn with what functions like to have. `say` appends events and resolves when they are durable. */
export function createFunctionTurn(
  turn: Turn,
  say: (events: readonly AgentEvent[]) => Promise<void>,
): FunctionTurn {
  const journal = new Journal(turn.journal);
  const steps = new Steps(turn, journal, (event) => say([event]));
  const waits = new Waits(turn, journal, say);
  const wait = async (
    state: TaskState,
    text: string,
    choices?: readonly string[],
  ): Promise<string | undefined> => {
    const answer = await waits.forCaller(state, text, choices);
    return answer && textOfParts(answer.parts);
  };
  return {
    ...turn,
    text: textOfParts(turn.message.parts),
    step: (name, body, options) => steps.run(name, body, options),
    ask: async (question, choices = []) => {
      if (choices.length === 0) return (await wait("input-required", question)) ?? "";
      const again = `Please answer with one of: ${choices.join(", ")}.`;
      for (let text = `${question} (${choices.join(" / ")})`; ; text = again) {
        const answer = await wait("input-required", text, choices);
        if (answer === undefined) return "";
        const given = answer.trim().toLowerCase();
        const chosen = choices.find((choice) => choice.toLowerCase() === given);
        if (chosen !== undefined) return chosen;
      }
    },
    authRequired: async (text) => (await wait("auth-required", text)) ?? "",
    sleep: (ms) => waits.forTime(ms),
    status,
    artifact,
    reply,
    reject,
    fail,
  };
}
