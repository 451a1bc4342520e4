import { type TaskState, isTerminal } from "@convoke/protocol";
import type {
  ChangedQuery,
  CommitStep,
  ContextQuery,
  CreationPosition,
  ListPosition,
  NewestQuery,
  Seq,
  StoredEvent,
  StoredSnapshot,
  StoredTask,
  TaskIndex,
  TaskQuery,
  TaskRecord,
  TaskRecordPage,
  WakePosition,
} from "../log/backend.ts";
import { InvalidStepError } from "../log/check-commit.ts";

/** A task and its log, changed in place so that the cost of an append does not depend on the length of the log. */
export interface MemoryTask {
  readonly taskId: string;
  readonly owner: string;
  readonly contextId: string;
  readonly agent: string;
  readonly agentId?: string;
  readonly host?: string;
  readonly createdAt: number;
  /** The events of the log; only the last one if the log was compacted. */
  events: string[];
  /** When each of them was committed. */
  times: number[];
  /** How many events are not in `events` since compaction. */
  dropped: number;
  /** The earlier events that compaction kept. */
  kept: readonly StoredEvent[];
  compacted: boolean;
  epoch: number;
  state: TaskState;
  statusAt: number;
  listed: boolean;
  snapshot: StoredSnapshot | undefined;
  /** `null` for none. */
  wakeAt: number | null;
}

export function createTask({
  taskId,
  create,
  epoch,
  state,
  statusAt,
  listed,
}: CommitStep): MemoryTask {
  if (create === undefined) throw new InvalidStepError(`task ${taskId} was never created`);
  const { owner, contextId, agent, agentId, host, createdAt } = create;
  return {
    taskId,
    owner,
    contextId,
    agent,
    ...(agentId !== undefined && { agentId }),
    ...(host !== undefined && { host }),
    createdAt,
    events: [],
    times: [],
    dropped: 0,
    kept: [],
    compacted: false,
    epoch,
    state,
    statusAt,
    listed,
    snapshot: undefined,
    wakeAt: null,
  };
}

/** Applies a step that was checked before. */
export function applyStep(task: MemoryTask, step: CommitStep, wakeAt: number | null): void {
  const at = Date.now();
  for (const event of step.events) {
    task.events.push(event);
    task.times.push(at);
  }
  task.epoch = step.epoch;
  task.state = step.state;
  task.statusAt = step.statusAt;
  task.listed = step.listed;
  task.wakeAt = wakeAt;
  if (step.snapshot && step.snapshot.seq > (task.snapshot?.seq ?? 0)) task.snapshot = step.snapshot;
}

/** The sequence of the last event. */
export function headOf({ dropped, events }: MemoryTask): Seq {
  return dropped + events.length;
}

export function readLog(
  { dropped, events, times, kept }: MemoryTask,
  after: Seq,
  limit: number,
): readonly StoredEvent[] {
  const early = after < dropped ? kept.filter(({ seq }) => seq > after).slice(0, limit) : [];
  const first = Math.max(0, after - dropped);
  const rest = events.slice(first, first + limit - early.length).map((json, index) => ({
    seq: dropped + first + index + 1,
    json,
    at: times[first + index]!,
  }));
  return early.length === 0 ? rest : [...early, ...rest];
}

/** Whether the log has exactly these events after a sequence. */
export function hasEvents(task: MemoryTask, after: Seq, events: readonly string[]): boolean {
  const stored = readLog(task, after, events.length);
  return events.every((json, index) => {
    const event = stored[index];
    return event?.seq === after + index + 1 && event.json === json;
  });
}

/** Removes all events except the last one and those to keep. They keep their sequence. */
export function compactLog(task: MemoryTask, snapshot: StoredSnapshot, keep: readonly Seq[]): void {
  const kept = new Set(keep).add(headOf(task));
  task.kept = readLog(task, 0, Infinity).filter(({ seq }) => kept.has(seq) && seq < headOf(task));
  task.dropped += Math.max(0, task.events.length - 1);
  task.events = task.events.slice(-1);
  task.times = task.times.slice(-1);
  task.snapshot = snapshot;
  task.compacted = true;
}

/** Copies the task, so that the record of a caller does not change. */
export function toRecord(task: MemoryTask): TaskRecord {
  const { events, times: _times, dropped, kept: _kept, snapshot: _, wakeAt, ...rest } = task;
  return { ...rest, head: dropped + events.length, ...(wakeAt !== null && { wakeAt }) };
}

/** Copies the task with its snapshot. */
function toStoredTask(task: MemoryTask): StoredTask {
  return { ...toRecord(task), snapshot: task.snapshot };
}

/**
 * Point reads are one lookup. Lists scan and sort all tasks: with so many tasks
 * that this matters, use a database.
 */
export class MemoryTaskIndex implements TaskIndex {
  readonly #tasks: ReadonlyMap<string, MemoryTask>;
  readonly #assertOpen: () => void;

  constructor(tasks: ReadonlyMap<string, MemoryTask>, assertOpen: () => void) {
    this.#tasks = tasks;
    this.#assertOpen = assertOpen;
  }

  async get(taskId: string): Promise<StoredTask | undefined> {
    this.#assertOpen();
    const task = this.#tasks.get(taskId);
    return task && toStoredTask(task);
  }

  async record(taskId: string): Promise<TaskRecord | undefined> {
    this.#assertOpen();
    const task = this.#tasks.get(taskId);
    return task && toRecord(task);
  }

  async list({
    owner,
    agentId,
    contextId,
    state,
    since,
    until,
    limit,
    after,
  }: TaskQuery): Promise<TaskRecordPage> {
    const matching = this.#all(
      (task) =>
        task.listed &&
        task.owner === owner &&
        (agentId === undefined || task.agentId === agentId) &&
        (contextId === undefined || task.contextId === contextId) &&
        (state === undefined || task.state === state) &&
        (since === undefined || task.statusAt >= since),
    );
    const rest = matching.filter(
      (task) =>
        (until === undefined || task.statusAt <= until) &&
        (after === undefined || newestFirst(after, task) < 0),
    );
    return {
      records: rest.toSorted(newestFirst).slice(0, limit).map(toRecord),
      total: matching.length,
    };
  }

  async ofContext({
    owner,
    agentId,
    contextId,
    before,
    limit,
  }: ContextQuery): Promise<readonly TaskRecord[]> {
    return this.#all(
      (task) =>
        task.listed &&
        task.owner === owner &&
        (agentId === undefined || task.agentId === agentId) &&
        task.contextId === contextId &&
        byCreation(task, before) < 0,
    )
      .toSorted((left, right) => byCreation(right, left))
      .slice(0, limit)
      .map(toRecord);
  }

  async changedSince({
    owner,
    agentId,
    contextId,
    at,
  }: ChangedQuery): Promise<readonly TaskRecord[]> {
    return this.#all(
      (task) =>
        task.listed &&
        task.owner === owner &&
        (agentId === undefined || task.agentId === agentId) &&
        (contextId === undefined || task.contextId === contextId) &&
        task.createdAt <= at &&
        task.statusAt > at,
    ).map(toRecord);
  }

  async unfinished(after: string, limit: number): Promise<readonly TaskRecord[]> {
    return this.#all((task) => !isTerminal(task.state) && task.taskId > after)
      .toSorted(byId)
      .slice(0, limit)
      .map(toRecord);
  }

  async newest({
    before,
    isUnfinished = false,
    limit,
  }: NewestQuery): Promise<readonly TaskRecord[]> {
    return this.#all(
      (task) =>
        (before === undefined || task.taskId < before) && !(isUnfinished && isTerminal(task.state)),
    )
      .toSorted((left, right) => byId(right, left))
      .slice(0, limit)
      .map(toRecord);
  }

  async waking(limit: number, after?: WakePosition): Promise<readonly TaskRecord[]> {
    return this.#all(
      (task) => task.wakeAt !== null && (after === undefined || earliestFirst(after, task) < 0),
    )
      .toSorted(earliestFirst)
      .slice(0, limit)
      .map(toRecord);
  }

  #all(matches: (task: MemoryTask) => boolean): MemoryTask[] {
    this.#assertOpen();
    return [...this.#tasks.values()].filter(matches);
  }
}

function newestFirst(left: ListPosition, right: ListPosition): number {
  return right.statusAt - left.statusAt || byId(right, left);
}

function byCreation(left: CreationPosition, right: CreationPosition): number {
  return left.createdAt - right.createdAt || byId(left, right);
}

/** Only for tasks with a wake time. */
function earliestFirst(
  left: Pick<MemoryTask, "wakeAt" | "taskId">,
  right: Pick<MemoryTask, "wakeAt" | "taskId">,
): number {
  return left.wakeAt! - right.wakeAt! || byId(left, right);
}

function byId(left: { readonly taskId: string }, right: { readonly taskId: string }): number {
  if (left.taskId === right.taskId) return 0;
  return left.taskId < right.taskId ? -1 : 1;
}
