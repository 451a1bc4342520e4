import type {
  NewPush,
  PushPosition,
  PushProgress,
  PushQuery,
  PushRecord,
  PushStore,
} from "../log/backend.ts";
import type { MemoryTask } from "./memory-task.ts";
import type { WriteGate } from "./write-gate.ts";

interface Parts {
  readonly tasks: ReadonlyMap<string, MemoryTask>;
  readonly gate: WriteGate;
}

/** The push configs of all tasks, by task and then by id. */
export class MemoryPushStore implements PushStore {
  readonly #tasks: ReadonlyMap<string, MemoryTask>;
  readonly #gate: WriteGate;
  readonly #byTask = new Map<string, Map<string, PushRecord>>();

  constructor({ tasks, gate }: Parts) {
    this.#tasks = tasks;
    this.#gate = gate;
  }

  put(taskId: string, push: NewPush): Promise<PushRecord | undefined> {
    return this.#gate.write(() => this.putNow(taskId, push));
  }

  async get(taskId: string, id: string): Promise<PushRecord | undefined> {
    this.#gate.assert();
    return this.#byTask.get(taskId)?.get(id);
  }

  async ofTask(taskId: string): Promise<readonly PushRecord[]> {
    this.#gate.assert();
    return [...(this.#byTask.get(taskId)?.values() ?? [])].toSorted(byPosition);
  }

  async list({ state, owner, after, limit }: PushQuery): Promise<readonly PushRecord[]> {
    this.#gate.assert();
    return [...this.#byTask.values()]
      .flatMap((pushes) => [...pushes.values()])
      .filter(
        (push) =>
          push.state === state &&
          (owner === undefined || push.owner === owner) &&
          (after === undefined || byPosition(after, push) < 0),
      )
      .toSorted(byPosition)
      .slice(0, limit);
  }

  progress(progress: PushProgress): Promise<boolean> {
    return this.#gate.write(() => this.#progress(progress));
  }

  delete(taskId: string, id: string): Promise<boolean> {
    return this.#gate.write(() => {
      const pushes = this.#byTask.get(taskId);
      const wasThere = pushes?.delete(id) ?? false;
      if (pushes?.size === 0) this.#byTask.delete(taskId);
      return wasThere;
    });
  }

  /** Adds a config as part of a step, without waiting. */
  putNow(taskId: string, { id, config, cursor }: NewPush): PushRecord | undefined {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return undefined;
    const generation = (this.#byTask.get(taskId)?.get(id)?.generation ?? 0) + 1;
    return this.#keep({
      taskId,
      id,
      owner: task.owner,
      config,
      generation,
      cursor,
      state: "active",
    });
  }

  hasActive(taskId: string): boolean {
    const pushes = this.#byTask.get(taskId);
    return pushes !== undefined && [...pushes.values()].some(({ state }) => state === "active");
  }

  /** Whether the task has an undelivered push, active or dead. */
  hasUndelivered(taskId: string): boolean {
    const pushes = this.#byTask.get(taskId);
    return pushes !== undefined && [...pushes.values()].some(({ state }) => state !== "done");
  }

  dropTask(taskId: string): void {
    this.#byTask.delete(taskId);
  }

  clear(): void {
    this.#byTask.clear();
  }

  #progress({ taskId, id, generation, cursor, state, failure }: PushProgress): boolean {
    const push = this.#byTask.get(taskId)?.get(id);
    if (push?.generation !== generation) return false;
    const { failingSince: _, problem: __, ...rest } = push;
    this.#keep({
      ...rest,
      cursor,
      state,
      ...(failure && { failingSince: failure.since, problem: failure.problem }),
    });
    return true;
  }

  /** Replaces the record instead of changing it, because callers may hold it. */
  #keep(push: PushRecord): PushRecord {
    const pushes = this.#byTask.get(push.taskId) ?? new Map<string, PushRecord>();
    this.#byTask.set(push.taskId, pushes.set(push.id, push));
    return push;
  }
}

function byPosition(left: PushPosition, right: PushPosition): number {
  return compare(left.taskId, right.taskId) || compare(left.id, right.id);
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
