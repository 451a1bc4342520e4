import type { Metrics } from "@convoke/protocol";
import { type Seq, Watchers } from "@convoke/engine";
import type { Hints } from "./hints.ts";
import type { Reader } from "./reader.ts";
import type { TaskChange } from "./step-plan.ts";
import { fromText, toText } from "./text.ts";

/** How often to look at the logs of tasks that other processes may write. */
const LOOK_MS = 250;
/** The same if no hints arrive, for a while after something was found. */
const BUSY_LOOK_MS = 25;
const BUSY_MS = 1000;
/** How often to say which tasks are followed, and for how long the others remember it. */
const REPEAT_MS = 5000;
const REMEMBER_MS = 12_000;

interface Parts {
  readonly reader: Reader;
  readonly hints: Hints;
  /** Whether this process works on the task, so that nobody else writes to it. */
  readonly isOwn: (taskId: string) => boolean;
  /** Whether this process is writing to the task; its watchers are called when that is stored. */
  readonly isWriting: (taskId: string) => boolean;
  /** The end of the log as far as this process knows. */
  readonly headOf: (taskId: string) => Seq | undefined;
  readonly metrics: Metrics | undefined;
}

const HEADS = `
  SELECT s.id, coalesce((SELECT p.last FROM @.segment p
    WHERE p.task = (SELECT t.n FROM @.task t WHERE t.task_id = s.id) ORDER BY p.first DESC LIMIT 1), 0)
  FROM unnest($1::text[]) AS s(id)`;

/**
 * The watched tasks of this process. Commits of this process wake their watchers at once. Those of
 * others are heard of by hints, and found by looking if a hint was lost.
 */
export class FollowedTasks {
  readonly #parts: Parts;
  readonly #watchers = new Watchers();
  /** How many watch each task. */
  readonly #counts = new Map<string, number>();
  /** The last head that the watchers of a task were called with. */
  readonly #heads = new Map<string, Seq>();
  /** Tasks that other processes follow, and until when. */
  readonly #followed = new Map<string, number>();
  readonly #repeats: NodeJS.Timeout;
  #looks: NodeJS.Timeout;
  #foundAt = -Infinity;
  #isClosed = false;
  #unsaid: string[] = [];
  #told = new Map<string, Seq>();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#repeats = setInterval(() => this.#say([...this.#counts.keys()]), REPEAT_MS).unref();
    this.#looks = setTimeout(() => void this.#look(), LOOK_MS).unref();
  }

  watch(taskId: string, wake: (head: Seq) => void): () => void {
    const count = this.#counts.get(taskId) ?? 0;
    this.#counts.set(taskId, count + 1);
    if (count === 0) {
      this.#heads.set(taskId, this.#parts.headOf(taskId) ?? 0);
      this.#sayLater(taskId);
    }
    const stop = this.#watchers.watch(taskId, wake);
    let isStopped = false;
    return () => {
      stop();
      if (!isStopped) this.#leave(taskId);
      isStopped = true;
    };
  }

  /** A commit of this process is stored. */
  committed(taskId: string, head: Seq): void {
    if (!this.#counts.has(taskId)) return;
    this.#heads.set(taskId, head);
    this.#watchers.wake(taskId, head);
  }

  /** Notifies processes that follow a task of what this one has written to it. */
  written({ taskId, after }: TaskChange): void {
    if ((this.#followed.get(taskId) ?? 0) < Date.now()) this.#followed.delete(taskId);
    else this.#tellLater(taskId, after.head);
  }

  /** Another process follows these tasks. */
  follow(taskIds: readonly string[]): void {
    for (const taskId of taskIds) this.#followed.set(taskId, Date.now() + REMEMBER_MS);
  }

  /** Another process has committed. Returns how many of the heads are news. */
  hear(heads: readonly (readonly [taskId: string, head: Seq])[]): number {
    let news = 0;
    for (const [taskId, head] of heads) {
      if (head > (this.#heads.get(taskId) ?? Infinity) && this.#moved(taskId, head)) news += 1;
    }
    return news;
  }

  /** The watched tasks that other processes may write. */
  foreign(): readonly string[] {
    return [...this.#counts.keys()].filter((taskId) => !this.#parts.isOwn(taskId));
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#looks);
    clearInterval(this.#repeats);
    this.#watchers.clear();
    this.#counts.clear();
    this.#heads.clear();
  }

  #leave(taskId: string): void {
    const count = (this.#counts.get(taskId) ?? 0) - 1;
    if (count > 0) this.#counts.set(taskId, count);
    else {
      this.#counts.delete(taskId);
      this.#heads.delete(taskId);
    }
  }

  async #look(): Promise<void> {
    const { reader, hints, metrics } = this.#parts;
    const taskIds = this.foreign();
    if (taskIds.length > 0) {
      // A database that does not answer is found by others; the next look may succeed.
      const rows = await reader.rows(HEADS, [taskIds.map(toText)]).catch(() => []);
      const news = this.#found(rows as readonly (readonly [string, Seq])[]);
      if (news > 0) {
        this.#foundAt = performance.now();
        metrics?.count("hintsMissed", [], news);
      }
    }
    if (this.#isClosed) return;
    const isBusy = !hints.areArriving && performance.now() - this.#foundAt < BUSY_MS;
    this.#looks = setTimeout(() => void this.#look(), isBusy ? BUSY_LOOK_MS : LOOK_MS).unref();
  }

  /** Compares what is stored with what is known. Returns how much is news. */
  #found(rows: readonly (readonly [taskId: string, head: Seq])[]): number {
    let news = 0;
    for (const [id, head] of rows) {
      const taskId = fromText(id);
      const known = this.#heads.get(taskId) ?? head;
      // A hint may be old, but here a lower head says that the database has lost the end of the log.
      if (head !== known && this.#moved(taskId, head)) news += 1;
    }
    return news;
  }

  /** Wakes the watchers of a task, unless this process writes it. */
  #moved(taskId: string, head: Seq): boolean {
    if (this.#parts.isWriting(taskId)) return false;
    this.#heads.set(taskId, head);
    this.#watchers.wake(taskId, head);
    return true;
  }

  #sayLater(taskId: string): void {
    if (this.#unsaid.push(taskId) > 1) return;
    setImmediate(() => {
      this.#say(this.#unsaid);
      this.#unsaid = [];
    });
  }

  #say(taskIds: readonly string[]): void {
    const foreign = taskIds.filter((id) => this.#counts.has(id) && !this.#parts.isOwn(id));
    this.#parts.hints.sendMany(foreign, (some) => ({ kind: "follow", taskIds: some }));
  }

  #tellLater(taskId: string, head: Seq): void {
    if (this.#told.set(taskId, head).size > 1) return;
    setImmediate(() => {
      this.#parts.hints.sendMany([...this.#told], (heads) => ({ kind: "heads", heads }));
      this.#told = new Map();
    });
  }
}
