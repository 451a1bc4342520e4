import type { Turn } from "@convoke/protocol";

/** How long a task was worked on: since its first model call, without the time in which it waited. */
export class WorkClock {
  readonly #now: Turn["now"];
  #startedAt: number | undefined;
  #waitedMs = 0;

  constructor({ now }: Pick<Turn, "now">, startedAt: Date | undefined) {
    this.#now = now;
    this.#startedAt = startedAt?.getTime();
  }

  /** When the first model call was made. */
  get startedAt(): Date | undefined {
    return this.#startedAt === undefined ? undefined : new Date(this.#startedAt);
  }

  start(): void {
    this.#startedAt ??= this.#now().getTime();
  }

  addWait(from: Date, to: Date): void {
    this.#waitedMs += Math.max(0, to.getTime() - from.getTime());
  }

  get workedMs(): number {
    const now = this.#now().getTime();
    return Math.max(0, now - (this.#startedAt ?? now) - this.#waitedMs);
  }
}
