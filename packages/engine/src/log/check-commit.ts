import type { AcceptedMessage, CommitResult, LogPosition, Seq, StoredSnapshot } from "./backend.ts";
import type { TaskState } from "@convoke/protocol";

/**
 * The state machine of tasks. A parameter, because the writer thread of SQLite
 * receives the rules as data.
 */
export interface StateRules {
  isTerminal(state: TaskState): boolean;
  mayFollow(from: TaskState, to: TaskState): boolean;
}

export type Refusal = Exclude<CommitResult, { readonly kind: "committed" }>;

/** A step that a correct engine never submits. Only this step rejects, and nothing is written. */
export class InvalidStepError extends Error {
  override readonly name = "InvalidStepError";
}

/** A messageId that is in use: by which task, and with which digest. */
export interface TakenMessage {
  readonly taskId: string;
  readonly digest: string;
}

interface StepCheck {
  readonly step: CheckedStep;
  /** How many events the step appends. */
  readonly count: number;
  readonly stored: StoredFacts | undefined;
  readonly taken: TakenMessage | undefined;
  /** Whether the context of the new task has expired and the step set `unlessForgotten`. */
  readonly isForgotten: boolean;
  /** Whether the log already has the events of the step after this sequence. Called only if another step was there first. */
  readonly hasEvents: (after: Seq) => boolean;
}

/** The fields of a step that decide; backends differ in how they pass its events. */
interface CheckedStep {
  readonly taskId: string;
  readonly create?: unknown;
  readonly epoch: number;
  readonly after?: LogPosition;
  readonly state: TaskState;
  readonly message?: AcceptedMessage;
  readonly snapshot?: StoredSnapshot;
}

/** The fields of a stored task that decide whether a step can be applied. */
interface StoredFacts {
  readonly epoch: number;
  readonly head: Seq;
  readonly state: TaskState;
}

/**
 * Returns the result of a step that must not be applied, or `undefined` if it can be.
 * All backends share this function, so they cannot disagree.
 *
 * The order matters. A step that was written already is committed, whatever happened
 * since, so that comes first. A retried message joins its task even if the task has
 * ended, belongs to a newer run, or its context has expired, so duplicates come next.
 * Nothing follows the end of a task, whatever the epoch, so that comes third.
 */
export function checkCommit(check: StepCheck, rules: StateRules): CommitResult | undefined {
  const { step, count, stored, taken, isForgotten } = check;
  const repeated = repeatedHead(check);
  if (repeated !== undefined) return { kind: "committed", head: repeated };
  if (taken !== undefined) return { kind: "duplicate", taskId: taken.taskId, digest: taken.digest };
  if (step.create !== undefined) {
    if (stored !== undefined) throw new InvalidStepError(`task ${step.taskId} was created already`);
    if (isForgotten) return { kind: "forgotten" };
  } else {
    if (stored === undefined) return { kind: "unknown" };
    const { epoch, head, state } = stored;
    if (rules.isTerminal(state)) return { kind: "terminal", state };
    if (step.epoch < epoch || !isExpected(check, stored)) return { kind: "stale", epoch, head };
    if (!rules.mayFollow(state, step.state)) {
      throw new InvalidStepError(`task ${step.taskId} is ${state} and cannot become ${step.state}`);
    }
  }
  const head = (stored?.head ?? 0) + count;
  if (step.snapshot !== undefined && step.snapshot.seq > head) {
    throw new InvalidStepError(
      `the snapshot of task ${step.taskId} is at ${step.snapshot.seq}, past its last event ${head}`,
    );
  }
  return undefined;
}

/** Whether the log is as the writer believes. A step without events can be repeated: it writes the same again. */
function isExpected({ step, count }: StepCheck, stored: StoredFacts): boolean {
  const { after, epoch } = step;
  if (after === undefined) return true;
  const isSameEpoch = stored.epoch === after.epoch || (count === 0 && stored.epoch === epoch);
  return isSameEpoch && stored.head === after.head;
}

/**
 * The head after the step if it was written before: its writer did not learn of it, and tries
 * again. An epoch alone does not tell, because two processes may have chosen the same one.
 */
function repeatedHead({ step, count, stored, hasEvents }: StepCheck): Seq | undefined {
  if (stored === undefined || step.after === undefined || count === 0) return undefined;
  const head = step.after.head + count;
  const isPossible = step.epoch <= stored.epoch && head <= stored.head;
  return isPossible && hasEvents(step.after.head) ? head : undefined;
}

/** Events are stored one per line, so a line break inside one would shift every later sequence. */
export function notOneLine(taskId: string): InvalidStepError {
  return new InvalidStepError(`an event of task ${taskId} is not on one line`);
}

/**
 * The `wakeAt` of a task after a step, `null` for none. All backends share this
 * function. The end of the task clears it even if the same step sets one.
 */
export function wakeAtAfter(
  { state, wakeAt }: { readonly state: TaskState; readonly wakeAt?: number | null },
  before: number | null,
  rules: StateRules,
): number | null {
  if (rules.isTerminal(state)) return null;
  return wakeAt === undefined ? before : wakeAt;
}
