import { type TaskState, isTerminal, mayFollow } from "@convoke/protocol";
import type { CommitResult, CommitStep, NewTask, Seq } from "@convoke/engine";
import {
  InvalidStepError,
  type TakenMessage,
  checkCommit,
  notOneLine,
  wakeAtAfter,
} from "@convoke/engine/backend";
import { type IdScope, messageKey } from "./message-key.ts";
import { RELEASED } from "./sharing-sql.ts";

/** A stored task, as far as steps depend on it. */
export interface TaskFacts {
  readonly n: number;
  readonly owner: string;
  /** `null` if the task has none. */
  readonly agentId: string | null;
  readonly epoch: number;
  readonly state: TaskState;
  readonly statusAt: number;
  readonly listed: boolean;
  readonly wakeAt: number | null;
  /** The replica that works on the task; see `task.run_by`. */
  readonly runBy: number | null;
  readonly head: Seq;
}

/** What is known about the database when steps are planned. */
export interface Knowledge {
  /** `undefined`: there is no such task, or it is not known. */
  task(taskId: string): TaskFacts | undefined;
  /** Whether everything about the step was read from the database, so that it can be refused. */
  isFresh(step: CommitStep): boolean;
  /** The message that uses this key, unless it is in a mailbox entry that the step handles. */
  taken(key: string, step: CommitStep): TakenMessage | undefined;
  isForgotten(task: NewTask): boolean;
  /** Whether the stored log has the events of the step at their place. */
  hasEvents(step: CommitStep): boolean;
}

/** The sum of all steps of a batch on one task. */
export interface TaskChange {
  readonly taskId: string;
  readonly create: NewTask | undefined;
  /** Whether the context of a new task must not have expired. */
  readonly mayBeForgotten: boolean;
  /** The task before the steps, and after them. */
  readonly before: TaskFacts;
  readonly after: TaskFacts;
  readonly events: readonly string[];
  /** Absent: the steps do not change it. */
  readonly wakeAt: number | null | undefined;
  readonly running: CommitStep["running"];
  readonly message: PlannedMessage | undefined;
  readonly snapshot: CommitStep["snapshot"];
  readonly pushes: readonly NonNullable<CommitStep["push"]>[];
  readonly mailbox: readonly string[];
  /** Whether the steps do nothing but append events. */
  readonly isPlain: boolean;
}

interface PlannedMessage {
  readonly key: string;
  readonly digest: string;
  readonly at: number;
}

export interface StepPlan {
  readonly changes: readonly TaskChange[];
  /** The result of each step, if the changes can be written. */
  readonly results: ReadonlyMap<CommitStep, CommitResult | InvalidStepError>;
  /** Steps that would be refused because of what may have changed in the database: read that first. */
  readonly unsure: ReadonlySet<CommitStep>;
}

const rules = { isTerminal, mayFollow };

/**
 * Decides about steps in their order, each on the basis of those before it, and joins those of the
 * same task. Nothing is written yet: the statements of `step-sql.ts` write a change only if the task
 * is as it was assumed here. A step that must wait for the next plan has no result, nor do those after it.
 */
export function planSteps(
  steps: readonly CommitStep[],
  known: Knowledge,
  replica: number,
): StepPlan {
  const drafts = new Map<string, Draft>();
  const taken = new Map<string, TakenMessage>();
  const opened = new Set<string>();
  const results = new Map<CommitStep, CommitResult | InvalidStepError>();
  const unsure = new Set<CommitStep>();

  for (const step of steps) {
    const { taskId, create } = step;
    const draft = drafts.get(taskId);
    // What follows may depend on it, for example on its message.
    if (draft?.mustWait(step) === true) break;
    const stored = draft?.after ?? known.task(taskId);
    const scope = scopeOf(create) ?? stored;
    const key = step.message && scope && messageKey(scope, step.message);
    const found = key === undefined ? undefined : (taken.get(key) ?? known.taken(key, step));
    try {
      if (step.events.some((event) => event.includes("\n"))) throw notOneLine(taskId);
      const isForgotten =
        create !== undefined && mayBeForgotten(create, opened) && known.isForgotten(create);
      const result = checkCommit(
        {
          step,
          count: step.events.length,
          stored,
          taken: found,
          isForgotten,
          hasEvents: (after) => draft?.hasEvents(after, step.events) ?? known.hasEvents(step),
        },
        rules,
      );
      if (result !== undefined) {
        if (known.isFresh(step)) results.set(step, result);
        else unsure.add(step);
        continue;
      }
    } catch (error) {
      if (!(error instanceof InvalidStepError)) throw error;
      if (known.isFresh(step)) results.set(step, error);
      else unsure.add(step);
      continue;
    }
    const applied = draft ?? new Draft(step, stored);
    if (create !== undefined) applied.mayBeForgotten = mayBeForgotten(create, opened);
    drafts.set(taskId, applied);
    applied.add(step, key, replica);
    if (key !== undefined) taken.set(key, { taskId, digest: step.message!.digest });
    if (create !== undefined && step.listed) opened.add(contextKey(create));
    results.set(step, { kind: "committed", head: applied.after.head });
  }
  return { changes: [...drafts.values()], results, unsure };
}

/** Whether a task is refused if its context has expired; not if a task before it opens the context again. */
function mayBeForgotten(create: NewTask, opened: ReadonlySet<string>): boolean {
  return create.unlessForgotten === true && !opened.has(contextKey(create));
}

/** A change that grows with each step of its task. */
class Draft implements TaskChange {
  readonly taskId: string;
  readonly create: NewTask | undefined;
  mayBeForgotten = false;
  readonly before: TaskFacts;
  after: TaskFacts;
  readonly events: string[] = [];
  wakeAt: number | null | undefined;
  running: CommitStep["running"];
  message: PlannedMessage | undefined;
  snapshot: CommitStep["snapshot"];
  readonly pushes: NonNullable<CommitStep["push"]>[] = [];
  readonly mailbox: string[] = [];
  isPlain: boolean;

  constructor(step: CommitStep, stored: TaskFacts | undefined) {
    this.taskId = step.taskId;
    this.create = step.create;
    this.before = stored ?? newTask(step);
    this.after = this.before;
    this.isPlain = step.create === undefined;
  }

  /**
   * The events of a change have one epoch, it has one message at most, and a push config cannot be
   * stored twice in one statement.
   */
  mustWait({ epoch, message, push }: CommitStep): boolean {
    const hasMessages = message !== undefined && this.message !== undefined;
    const isSamePush = this.pushes.some(({ id }) => id === push?.id);
    return epoch !== this.after.epoch || hasMessages || isSamePush;
  }

  add(step: CommitStep, key: string | undefined, replica: number): void {
    const { epoch, state, statusAt, listed, message, snapshot, push, wakeAt, running } = step;
    const { after } = this;
    const runBy = isTerminal(state) ? null : runByAfter(running, replica, after.runBy);
    this.after = {
      ...after,
      epoch,
      state,
      statusAt,
      listed,
      wakeAt: wakeAtAfter(step, after.wakeAt, rules),
      runBy,
      head: after.head + step.events.length,
    };
    this.isPlain &&=
      step.events.length > 0 &&
      epoch === after.epoch &&
      state === after.state &&
      statusAt === after.statusAt &&
      listed === after.listed &&
      wakeAt === undefined &&
      runBy === after.runBy &&
      message === undefined &&
      snapshot === undefined &&
      push === undefined &&
      (step.mailbox ?? []).length === 0;
    this.events.push(...step.events);
    if (wakeAt !== undefined) this.wakeAt = wakeAt;
    if (running !== undefined) this.running = running;
    if (key !== undefined) this.message = { key, digest: message!.digest, at: statusAt };
    if (snapshot !== undefined && snapshot.seq > (this.snapshot?.seq ?? 0))
      this.snapshot = snapshot;
    if (push !== undefined) this.pushes.push(push);
    this.mailbox.push(...(step.mailbox ?? []));
  }

  /** Whether the events of this change include those of a step. `undefined` if they would be stored already. */
  hasEvents(after: Seq, events: readonly string[]): boolean | undefined {
    const place = after - this.before.head;
    if (place < 0) return undefined;
    return events.every((event, index) => this.events[place + index] === event);
  }
}

/** `task.run_by` after a step. */
function runByAfter(
  running: CommitStep["running"],
  replica: number,
  before: number | null,
): number | null {
  if (running === undefined) return before;
  if (running === false) return null;
  return running === "elsewhere" ? RELEASED : replica;
}

function newTask({ create, epoch, state, statusAt, listed }: CommitStep): TaskFacts {
  const { owner, agentId = null } = create!;
  const none = { n: 0, wakeAt: null, runBy: null, head: 0 };
  return { ...none, owner, agentId, epoch, state, statusAt, listed };
}

export function scopeOf(create: NewTask | undefined): IdScope | undefined {
  return create && { owner: create.owner, agentId: create.agentId ?? null };
}

export function contextKey({ owner, agentId = "", contextId }: NewTask): string {
  return `${owner}\n${agentId}\n${contextId}`;
}
