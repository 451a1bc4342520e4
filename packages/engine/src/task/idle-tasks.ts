/** Something that holds a task in memory because it may be needed again soon. */
export interface TaskHolder {
  /** The approximate size of the task, in characters. */
  readonly size: number;
}

interface IdleTasksOptions<T> {
  readonly maxTasks: number;
  /** Called with each holder that is evicted. */
  readonly onEvict: (holder: T) => void;
}

/** Total size of all tasks, in characters: a few large ones must not exhaust the heap. */
const MAX_SIZE = 32 * 1024 * 1024;

/**
 * A cache of tasks that wait for their caller, so that a turn costs the same however many came
 * before it (G9). Bounded in number and total size; the task that has waited longest is evicted
 * first. The newest is kept whatever its size.
 */
export class IdleTasks<T extends TaskHolder> {
  readonly #options: IdleTasksOptions<T>;
  /** Each holder with its size when it was added, which is what its removal subtracts. */
  readonly #holders = new Map<T, number>();
  #size = 0;

  constructor(options: IdleTasksOptions<T>) {
    this.#options = options;
  }

  keep(holder: T): void {
    this.delete(holder);
    this.#holders.set(holder, holder.size);
    this.#size += holder.size;
    while (this.#isFull) {
      const [oldest] = this.#holders.keys();
      this.delete(oldest!);
      this.#options.onEvict(oldest!);
    }
  }

  delete(holder: T): void {
    this.#size -= this.#holders.get(holder) ?? 0;
    this.#holders.delete(holder);
  }

  get #isFull(): boolean {
    const { size } = this.#holders;
    return size > this.#options.maxTasks || (size > 1 && this.#size > MAX_SIZE);
  }
}
