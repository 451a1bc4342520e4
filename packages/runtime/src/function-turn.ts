import {
  type TaskState,
  type Turn,
  agentMessage,
  isFinal,
  textOfParts,
  type StatusUpdateEvent,
} from "@convoke/protocol";
import { artifact, fail, reject, reply, status } from "./said.ts";

/** What a function agent's `run` gets. */
export interface FunctionTurn extends Turn {
  /** The text of the message. */
  readonly text: string;
  /**
   * Asks the caller and waits for the answer. With choices, it asks again until
   * the answer is one of them, and returns that one.
   */
  readonly ask: (question: string, choices?: readonly string[]) => Promise<string>;
  /** Says that the caller must authorize something first, and waits for its next message. */
  readonly authRequired: (text: string) => Promise<string>;
  readonly status: typeof status;
  readonly artifact: typeof artifact;
  readonly reply: typeof reply;
  readonly reject: typeof reject;
  readonly fail: typeof fail;
}

/** Dresses a turn with what functions like to have. `emit` appends an event now. */
export function createFunctionTurn(
  turn: Turn,
  emit: (event: StatusUpdateEvent) => void,
): FunctionTurn {
  const wait = async (state: TaskState, text: string): Promise<string> => {
    emit(waitingStatus(turn, state, text));
    const answer = await turn.inbox.next();
    if (answer.done === true) throw turn.signal.reason ?? new Error("nobody will answer any more");
    return textOfParts(answer.value.parts);
  };
  return {
    ...turn,
    text: textOfParts(turn.message.parts),
    ask: async (question, choices) => {
      const first = choices === undefined ? question : `${question} (${choices.join(" / ")})`;
      let answer = await wait("input-required", first);
      if (choices === undefined) return answer;
      for (;;) {
        const given = answer.trim().toLowerCase();
        const chosen = choices.find((choice) => choice.toLowerCase() === given);
        if (chosen !== undefined) return chosen;
        answer = await wait("input-required", `Please answer with one of: ${choices.join(", ")}.`);
      }
    },
    authRequired: (text) => wait("auth-required", text),
    status,
    artifact,
    reply,
    reject,
    fail,
  };
}

function waitingStatus(turn: Turn, state: TaskState, text: string): StatusUpdateEvent {
  const { id: taskId, contextId } = turn.task;
  const message = agentMessage(turn.id(), text);
  return {
    kind: "status-update",
    taskId,
    contextId,
    status: { state, message },
    final: isFinal(state),
  };
}
