/**
 * A writer whose output goes on for this many steps, each soon after the one before, gathers it: a step
 * of a few chunks costs little more than one of a single chunk.
 */
const MANY_STEPS = 3;
const QUICK_MS = 2;
const GATHER_MS = 2;

/** A writer of a task. */
interface Committer {
  commitAll(): Promise<void>;
}

/**
 * Decides when a writer commits: after everything that is ready to run has run, so that a burst becomes
 * one step. A stream of one chunk per turn of the event loop is not delayed at first. If it goes on,
 * chunks are gathered for a moment; other events are never delayed.
 */
export class CommitTimer {
  readonly #writer: Committer;
  /** When the last step was sent to the store, by `performance.now()`. */
  #sentAt = Number.NEGATIVE_INFINITY;
  /** How many of the last steps came soon after the one before. */
  #quickSteps = 0;
  #gathering: NodeJS.Timeout | undefined;
  #isHurried = false;

  constructor(writer: Committer) {
    this.#writer = writer;
  }

  /** There is something to commit, and the writer is not committing. */
  start(isChunk: boolean): void {
    if (!this.#gather(isChunk)) commitSoon(this.#writer);
  }

  /**
   * A step was committed, and chunks have arrived meanwhile: whether they wait for more of them. If so,
   * the writer is called again.
   */
  pauses(): boolean {
    return this.#gather(!this.#isHurried);
  }

  /** Whether something waits for what was added since the last step. */
  get isHurried(): boolean {
    return this.#isHurried;
  }

  /** Something waits for what was added: it is not gathered any longer. */
  hurry(): void {
    this.#isHurried = true;
    if (this.#gathering !== undefined) this.#commitGathered();
  }

  /** A step was sent to the store at this time, by `performance.now()`. */
  sent(at: number): void {
    this.#sentAt = at;
    this.#isHurried = false;
  }

  #gather(mayWait: boolean): boolean {
    this.#quickSteps = performance.now() - this.#sentAt < QUICK_MS ? this.#quickSteps + 1 : 0;
    if (!mayWait || this.#quickSteps < MANY_STEPS) return false;
    this.#gathering = setTimeout(() => this.#commitGathered(), GATHER_MS);
    return true;
  }

  #commitGathered(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    commitSoon(this.#writer);
  }
}

/** The writers that begin to commit once everything that is ready to run has run. */
let ready: Committer[] = [];

/** All writers that become ready in the same turn of the event loop share what is scheduled. */
function commitSoon(writer: Committer): void {
  if (ready.push(writer) === 1) queueMicrotask(afterMicrotasks);
}

/** A microtask alone would run before code that resumes in the same turn. */
function afterMicrotasks(): void {
  process.nextTick(commitReady);
}

function commitReady(): void {
  const writers = ready;
  ready = [];
  for (const writer of writers) void writer.commitAll();
}
