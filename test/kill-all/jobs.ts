import { setTimeout as sleep } from "node:timers/promises";
import { type AgentDefinition, type FunctionTurn, StepUnknownError } from "@convoke/runtime";
import { cause } from "../harness/effect.ts";

/** What a task repeats until its phase is reached. */
export const KINDS = ["steps", "stream", "ask", "cancel", "plain"] as const;

type Kind = (typeof KINDS)[number];

/** A job as described by its message. */
export interface Job {
  readonly kind: Kind;
  /** The phase in which it completes; a job that will be canceled never completes by itself. */
  readonly until: number;
  /** Approximate pause between two rounds. */
  readonly restMs: number;
}

/** The number of chunks in one round of a stream. */
export const CHUNKS = 10;

/** The agent's output in one round of a stream. */
export function chunkOf(round: number, place: number): string {
  return `${round}.${place} `;
}

/** Executes one job; all its side effects go to the receiver. */
async function* work(
  turn: FunctionTurn,
  receiverUrl: string,
): AsyncGenerator<string, void, unknown> {
  const job = JSON.parse(turn.text) as Job;
  if (job.kind === "plain") return yield* plain(job);
  for (let round = 1; ; round++) {
    const phase = await pay(turn, receiverUrl, round);
    if (job.kind === "stream") yield* burst(round);
    else yield `${round} ${await ship(turn, receiverUrl, round)}; `;
    if (job.kind !== "cancel" && phase >= job.until) break;
    // Some rounds follow each other immediately.
    if (round % 3 !== 0) await turn.sleep(job.restMs * (0.2 + 0.4 * (round % 5)));
  }
  if (job.kind === "ask") yield `${await turn.ask("Enough?", ["yes", "no"])}!`;
}

/** Without a journal: a crash fails it, or it restarts from the top. */
async function* plain({ until }: Job): AsyncGenerator<string, void, unknown> {
  for (let place = 0; place < CHUNKS; place++) {
    yield chunkOf(1, place);
    await sleep(1 + 4 * (until % 8));
  }
}

async function* burst(round: number): AsyncGenerator<string, void, unknown> {
  for (let place = 0; place < CHUNKS; place++) {
    yield chunkOf(round, place);
    if (place % 3 === 0) await sleep(1);
  }
}

/** May run again after a crash, with the same key. Returns the phase. */
function pay({ step, message }: FunctionTurn, receiverUrl: string, round: number): Promise<number> {
  const effect = { by: message.messageId, name: `pay ${round}` };
  return step("pay", ({ key }) => cause(receiverUrl, { ...effect, key }), { id: String(round) });
}

/** Must not run again: after a crash it is unknown whether it ran. */
async function ship(
  { step, message }: FunctionTurn,
  receiverUrl: string,
  round: number,
): Promise<"shipped" | "unknown"> {
  try {
    const effect = { by: message.messageId, name: `ship ${round}` };
    await step("ship", () => cause(receiverUrl, effect), { id: String(round) });
    return "shipped";
  } catch (error) {
    if (error instanceof StepUnknownError) return "unknown";
    throw error;
  }
}

/**
 * The agent that the test kills. With `restart`, a task without a journal restarts from the top.
 */
export function worker(receiverUrl: string, restart: boolean): AgentDefinition {
  return {
    name: "Worker",
    description: "Works until it is told that it is enough.",
    restart,
    run: (turn) => work(turn, receiverUrl),
  };
}
