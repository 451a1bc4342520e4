import type { TaskState } from "@convoke/protocol";
import type {
  CommitResult,
  CommitStep,
  Seq,
  StoredEvent,
  StoredSnapshot,
  StoredTask,
  TaskRecord,
} from "@convoke/engine";

interface ModelTask {
  readonly owner: string;
  readonly contextId: string;
  readonly createdAt: number;
  readonly log: string[];
  /** The epoch in which each event was written. */
  readonly epochs: number[];
  epoch: number;
  state: TaskState;
  statusAt: number;
  listed: boolean;
  snapshot: StoredSnapshot | undefined;
  wakeAt: number | undefined;
}

const ENDS: readonly TaskState[] = ["completed", "canceled", "failed", "rejected"];
const BEGINNINGS: readonly TaskState[] = ["submitted", "unknown"];

/** Whether the events of the step are in the log, where the step wants to append them. */
function wasWritten({ log, epoch }: ModelTask, step: CommitStep): boolean {
  const { after, events } = step;
  if (after === undefined || events.length === 0 || step.epoch > epoch) return false;
  const written = log.slice(after.head, after.head + events.length);
  return events.length === written.length && events.every((event, n) => event === written[n]);
}

/** Whether all events at the place of the step were written in its epoch. */
function isOwn({ epochs }: ModelTask, { after, events, epoch }: CommitStep): boolean {
  return events.every((_, n) => epochs[after!.head + n] === epoch);
}

function isAtEnd({ log, epoch }: ModelTask, step: CommitStep): boolean {
  const { after, events } = step;
  if (after === undefined) return true;
  const epochs = events.length === 0 ? [after.epoch, step.epoch] : [after.epoch];
  return log.length === after.head && epochs.includes(epoch);
}

/** The simplest model of a backend: a list of events for each task. */
export class BackendModel {
  readonly tasks = new Map<string, ModelTask>();
  readonly #messages = new Map<string, { readonly taskId: string; readonly digest: string }>();
  readonly #followers: { readonly taskId: string; readonly heads: Seq[] }[] = [];
  readonly #isShared: boolean;

  /** @param isShared whether the same events may be those of another process */
  constructor(isShared: boolean) {
    this.#isShared = isShared;
  }

  /** "misuse" if the backend rejects. */
  commit(step: CommitStep): CommitResult | "misuse" {
    const task = this.tasks.get(step.taskId);
    if (task !== undefined && wasWritten(task, step) && (!this.#isShared || isOwn(task, step))) {
      return { kind: "committed", head: step.after!.head + step.events.length };
    }
    const owner = step.create?.owner ?? task?.owner;
    const taken = step.message && this.#messages.get(`${owner} ${step.message.messageId}`);
    if (owner !== undefined && taken !== undefined) return { kind: "duplicate", ...taken };
    if (step.create !== undefined && task !== undefined) return "misuse";
    if (step.create === undefined) {
      if (task === undefined) return { kind: "unknown" };
      if (ENDS.includes(task.state)) return { kind: "terminal", state: task.state };
      if (step.epoch < task.epoch || !isAtEnd(task, step)) {
        return { kind: "stale", epoch: task.epoch, head: task.log.length };
      }
      if (BEGINNINGS.includes(step.state) && !BEGINNINGS.includes(task.state)) return "misuse";
    }
    const head = (task?.log.length ?? 0) + step.events.length;
    if (step.snapshot !== undefined && step.snapshot.seq > head) return "misuse";
    this.#apply(step, owner!);
    return { kind: "committed", head };
  }

  read(taskId: string, after: Seq, limit: number): readonly StoredEvent[] {
    const log = this.tasks.get(taskId)?.log ?? [];
    return log.map((json, place) => ({ seq: place + 1, json })).slice(after, after + limit);
  }

  /** The heads that a watcher must receive from now on. */
  follow(taskId: string): readonly Seq[] {
    const heads: Seq[] = [];
    this.#followers.push({ taskId, heads });
    return heads;
  }

  reopen(): void {
    this.#followers.length = 0;
  }

  record(taskId: string): StoredTask | undefined {
    const task = this.tasks.get(taskId);
    if (task === undefined) return undefined;
    const { log, epochs: _, snapshot, wakeAt, ...facts } = task;
    return {
      taskId,
      agent: "model",
      head: log.length,
      ...facts,
      compacted: false,
      snapshot,
      ...(wakeAt !== undefined && { wakeAt }),
    };
  }

  records(matches: (record: TaskRecord) => boolean): readonly TaskRecord[] {
    return [...this.tasks.keys()]
      .map((taskId) => {
        const { snapshot: _, ...record } = this.record(taskId)!;
        return record;
      })
      .filter(matches);
  }

  #apply(step: CommitStep, owner: string): void {
    const { taskId, create, epoch, state, statusAt, listed, message, snapshot, wakeAt } = step;
    const task = this.tasks.get(taskId) ?? {
      owner,
      contextId: create!.contextId,
      createdAt: create!.createdAt,
      log: new Array<string>(),
      epochs: new Array<number>(),
      snapshot: undefined,
      wakeAt: undefined,
    };
    task.log.push(...step.events);
    task.epochs.push(...step.events.map(() => epoch));
    const isNewer = snapshot !== undefined && snapshot.seq > (task.snapshot?.seq ?? 0);
    const wish = wakeAt === undefined ? task.wakeAt : (wakeAt ?? undefined);
    this.tasks.set(taskId, {
      ...task,
      epoch,
      state,
      statusAt,
      listed,
      snapshot: isNewer ? snapshot : task.snapshot,
      wakeAt: ENDS.includes(state) ? undefined : wish,
    });
    if (message) {
      const { messageId, digest } = message;
      this.#messages.set(`${owner} ${messageId}`, { taskId, digest });
    }
    for (const follower of this.#followers) {
      if (follower.taskId === taskId) follower.heads.push(task.log.length);
    }
  }
}

export function isEnded({ state }: TaskRecord): boolean {
  return ENDS.includes(state);
}
