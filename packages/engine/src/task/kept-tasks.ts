/** Something that keeps a task in memory only because it may be needed soon. */
export interface Keeper {
  /** How much the task takes up, in characters. */
  readonly size: number;
}

interface KeptTasksOptions<T> {
  readonly most: number;
  /** Called with each that has to make room. */
  readonly onDrop: (keeper: T) => void;
}

/** Characters of all tasks that are kept: a few large ones must not use up the heap. */
const MOST_SIZE = 32 * 1024 * 1024;

/**
 * Tasks that wait for their caller are kept in memory for a while, so that a turn costs the same
 * after many turns (G9). Bounded by their number and by their size: the one that has waited longest
 * makes room. The newest is kept whatever its size.
 */
export class KeptTasks<T extends Keeper> {
  readonly #options: KeptTasksOptions<T>;
  /** With the size that each had when it came, which is what leaves with it. */
  readonly #keepers = new Map<T, number>();
  #size = 0;

  constructor(options: KeptTasksOptions<T>) {
    this.#options = options;
  }

  keep(keeper: T): void {
    this.delete(keeper);
    this.#keepers.set(keeper, keeper.size);
    this.#size += keeper.size;
    while (this.#isFull) {
      const [oldest] = this.#keepers.keys();
      this.delete(oldest!);
      this.#options.onDrop(oldest!);
    }
  }

  delete(keeper: T): void {
    this.#size -= this.#keepers.get(keeper) ?? 0;
    this.#keepers.delete(keeper);
  }

  get #isFull(): boolean {
    const { size } = this.#keepers;
    return size > this.#options.most || (size > 1 && this.#size > MOST_SIZE);
  }
}
