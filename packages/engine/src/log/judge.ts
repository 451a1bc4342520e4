import type { AcceptedMessage, Committed, Seq, Snapshot } from "./backend.ts";
import type { TaskState } from "@convoke/protocol";

/** What decides whether a step may be applied to a task. */
interface TaskFacts {
  readonly epoch: number;
  readonly head: Seq;
  readonly state: TaskState;
}

/** A message id that is taken: by which task, and with which digest. */
export interface TakenMessage {
  readonly taskId: string;
  readonly digest: string;
}

/** The part of a step that is judged; how its events travel differs by backend. */
interface StepClaim {
  readonly taskId: string;
  readonly create?: unknown;
  readonly epoch: number;
  readonly state: TaskState;
  readonly message?: AcceptedMessage;
  readonly snapshot?: Snapshot;
}

/**
 * How states may follow each other. Passed in, because the writer thread of
 * SQLite loads no other package and gets the rules as data.
 */
export interface StateRules {
  isTerminal(state: TaskState): boolean;
  mayFollow(from: TaskState, to: TaskState): boolean;
}

export type Refusal = Exclude<Committed, { readonly kind: "committed" }>;

/** A step that no correct engine submits. It rejects, alone, and writes nothing. */
export class Misuse extends Error {
  override readonly name = "Misuse";
}

interface Case {
  readonly step: StepClaim;
  /** How many events the step appends. */
  readonly count: number;
  readonly stored: TaskFacts | undefined;
  readonly taken: TakenMessage | undefined;
  /** The context of the new task is forgotten, and the step wants to be told. */
  readonly isForgotten: boolean;
}

/**
 * Why a step may not be applied, or `undefined` when it may. All backends ask
 * here, so they cannot disagree.
 *
 * The order matters. A retried message joins its task even when that has ended
 * or belongs to a newer run by now, and also when the context it opened is
 * forgotten, so duplicates come first; nothing follows the end of a task,
 * whatever the epoch, so that comes second.
 */
export function judge(
  { step, count, stored, taken, isForgotten }: Case,
  rules: StateRules,
): Refusal | undefined {
  if (taken !== undefined) return { kind: "duplicate", taskId: taken.taskId, digest: taken.digest };
  if (step.create !== undefined) {
    if (stored !== undefined) throw new Misuse(`task ${step.taskId} was created already`);
    if (isForgotten) return { kind: "forgotten" };
  } else {
    if (stored === undefined) return { kind: "unknown" };
    if (rules.isTerminal(stored.state)) return { kind: "terminal", state: stored.state };
    if (step.epoch < stored.epoch) return { kind: "stale", epoch: stored.epoch };
    if (!rules.mayFollow(stored.state, step.state)) {
      throw new Misuse(`task ${step.taskId} is ${stored.state} and cannot become ${step.state}`);
    }
  }
  const head = (stored?.head ?? 0) + count;
  if (step.snapshot !== undefined && step.snapshot.seq > head) {
    throw new Misuse(
      `the snapshot of task ${step.taskId} is at ${step.snapshot.seq}, past its last event ${head}`,
    );
  }
  return undefined;
}

/** Events are kept one per line, so a raw line break inside one would shift every later sequence. */
export function notOneLine(taskId: string): Misuse {
  return new Misuse(`an event of task ${taskId} is not on one line`);
}
