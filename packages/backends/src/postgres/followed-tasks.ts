import { type Seq, Watchers } from "@convoke/engine";
import type { Hints } from "./hints.ts";
import type { Reader } from "./reader.ts";
import { fromText, toText } from "./text.ts";

/** How often to look at the logs of tasks that other processes may write. */
const LOOK_MS = 250;
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
  readonly #timers: readonly NodeJS.Timeout[];
  #isLooking = false;
  #unsaid: string[] = [];
  #told = new Map<string, Seq>();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#timers = [
      setInterval(() => void this.#look(), LOOK_MS).unref(),
      setInterval(() => this.#say([...this.#counts.keys()]), REPEAT_MS).unref(),
    ];
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
    if (this.#counts.has(taskId)) {
      this.#heads.set(taskId, head);
      this.#watchers.wake(taskId, head);
    }
    if ((this.#followed.get(taskId) ?? 0) > Date.now()) this.#tellLater(taskId, head);
    else this.#followed.delete(taskId);
  }

  /** Another process follows these tasks. */
  follow(taskIds: readonly string[]): void {
    for (const taskId of taskIds) this.#followed.set(taskId, Date.now() + REMEMBER_MS);
  }

  /** Another process has committed. */
  hear(heads: readonly (readonly [taskId: string, head: Seq])[]): void {
    for (const [taskId, head] of heads) {
      if (head > (this.#heads.get(taskId) ?? Infinity)) this.#moved(taskId, head);
    }
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
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
    const taskIds = [...this.#counts.keys()].filter((taskId) => !this.#parts.isOwn(taskId));
    if (taskIds.length === 0 || this.#isLooking) return;
    this.#isLooking = true;
    // A database that does not answer is found by others; the next look may succeed.
    const rows = await this.#parts.reader.rows(HEADS, [taskIds.map(toText)]).catch(() => []);
    this.#isLooking = false;
    for (const [id, head] of rows as readonly (readonly [string, Seq])[]) {
      const taskId = fromText(id);
      // A hint may be old, but here a lower head says that the database has lost the end of the log.
      if (head !== (this.#heads.get(taskId) ?? head)) this.#moved(taskId, head);
    }
  }

  #moved(taskId: string, head: Seq): void {
    if (this.#parts.isWriting(taskId)) return;
    this.#heads.set(taskId, head);
    this.#watchers.wake(taskId, head);
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
