import { type AgentDefinition, StepUnknownError, reply } from "convoke";
import { type AgentEvent, agentMessage, textOfParts } from "@convoke/protocol";

/**
 * What an agent does with a message, one letter for each action. Its output says
 * what happened, so that its text can be predicted from its input:
 *
 * s emits a chunk · b emits a lot · y yields to the event loop · t runs a step
 * a asks · z sleeps · i takes a message while it works · h works until it is aborted
 * g does so too, and then completes anyway · x fails
 * q asks by ending its turn; the answer is the program of the next
 */
export type Program = string;

export const LETTERS = "sbytazihgxq";

export const HOUR_MS = 3_600_000;

/** Enough for a snapshot at the end of a task. */
export const MUCH = "much ".repeat(8000);

/** The side effects of a program in addition to its events. */
export interface Traces {
  /** The process is gone: nothing more happens in it. */
  readonly isOver: boolean;
  /** Something happened: the process is not idle. */
  stir(): void;
  /** The body of a step ran. */
  effect(key: string): void;
  /** A run is working on the task until the returned function is called. */
  works(taskId: string): () => void;
}

type Run = AgentDefinition["run"];
type FunctionTurn = Parameters<Run>[0];

/** The agent that runs programs. */
export function runProgram(traces: Traces): Run {
  return async function* (turn) {
    const { text, step, ask, sleep, task } = turn;
    for (const [n, letter] of text.split("").entries()) {
      traces.stir();
      if (letter === "s") yield said(letter, n);
      else if (letter === "b") yield said(letter, n, MUCH);
      else if (letter === "y") await aMoment();
      else if (letter === "a") yield said(letter, n, await ask("and?"));
      else if (letter === "t") {
        const result = step(`${n}`, () => {
          traces.effect(`${task.id} ${turn.message.messageId} ${n}`);
          return aliveAfter(aMoment(), traces);
        });
        yield said(letter, n, await result.then(() => "", unknownOnly));
      } else if (letter === "z") {
        await sleep(HOUR_MS);
        yield said(letter, n);
      } else if (letter === "i") yield said(letter, n, await nextMessage(turn, traces));
      else if (letter === "h") await untilTold(turn, traces);
      else if (letter === "g") {
        await untilTold(turn, traces).catch(() => undefined);
        return reply("all the same");
      } else if (letter === "x") throw new Error("as the program says");
      else if (letter === "q") {
        yield question(turn);
        await aMoment();
        return;
      }
    }
  };
}

/** The text for the n-th action of a program. */
export function said(letter: string, n: number, what = ""): string {
  return `${letter}${n}${what} `;
}

/** The text for a step that a crash interrupted. */
export const UNKNOWN = "?";

function unknownOnly(error: unknown): string {
  if (error instanceof StepUnknownError) return UNKNOWN;
  throw error;
}

function aMoment(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** In a process that is gone nothing continues. */
async function aliveAfter(moment: Promise<void>, traces: Traces): Promise<void> {
  await moment;
  if (traces.isOver) await new Promise(() => undefined);
}

async function nextMessage({ inbox, task }: FunctionTurn, traces: Traces): Promise<string> {
  const done = traces.works(task.id);
  const { value } = await inbox.next();
  done();
  if (value === undefined) throw new Error("no more messages will come");
  return textOfParts(value.parts);
}

async function untilTold({ signal, task }: FunctionTurn, traces: Traces): Promise<never> {
  const done = traces.works(task.id);
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  done();
  throw signal.reason as Error;
}

function question({ task, id }: FunctionTurn): AgentEvent {
  const { id: taskId, contextId } = task;
  const status = { state: "input-required", message: agentMessage(id(), "what next?") } as const;
  return { kind: "status-update", taskId, contextId, status, final: true };
}
