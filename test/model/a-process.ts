import { type AgentDefinition, defineAgent } from "convoke";
import {
  type Backend,
  type CommitResult,
  type CommitStep,
  type Engine,
  type TaskIndex,
  createEngine,
  recover,
} from "@convoke/engine";
import { memoryLogger } from "../engine/an-engine.ts";
import type { Disk } from "./a-disk.ts";
import { type Traces, runProgram } from "./program.ts";

export interface ProcessOptions {
  readonly disk: Disk;
  readonly now: () => number;
  readonly definition: Partial<AgentDefinition>;
  readonly maxParkedRuns: number | undefined;
  /** How long calls to the disk take, in turns of the event loop; repeated in order. */
  readonly delays: readonly number[];
  /** What the bodies of steps did, in this process and all others. */
  readonly effects: string[];
}

/** When a process dies: at its n-th commit from now, before or after it is written. */
export interface Death {
  readonly atCommit: number;
  readonly isWritten: boolean;
}

/** How many idle turns of the event loop mean that nothing more will happen. */
const QUIET_TURNS = 6;

const never = (): Promise<never> => new Promise(() => undefined);
const aTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * An engine that can die at any commit. Its pending actions are then dropped: its calls to the disk
 * are no longer answered.
 */
export class Process implements Traces {
  readonly engine: Engine;
  readonly dead: Promise<void>;
  isOver = false;
  /** The tasks that the agent is working on, one entry for each run. */
  readonly working: string[] = [];
  readonly #options: ProcessOptions;
  readonly #died = Promise.withResolvers<void>();
  #death: { atCommit: number; readonly isWritten: boolean } | undefined;
  #stirs = 0;
  #calls = 0;
  #underWay = 0;
  readonly #watchers = new Set<{ readonly taskId: string; wake(head: number): void }>();

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.dead = this.#died.promise;
    const agent = defineAgent({
      name: "Model",
      description: "Does what its message says.",
      run: runProgram(this),
      ...options.definition,
    });
    this.engine = createEngine({
      agent,
      backend: this.#asSeenFromHere(),
      logger: memoryLogger(),
      now: options.now,
      idempotency: "always",
      ...(options.maxParkedRuns !== undefined && { maxParkedRuns: options.maxParkedRuns }),
    });
  }

  recover(): Promise<unknown> {
    return recover(this.engine);
  }

  willDie({ atCommit, isWritten }: Death): void {
    this.#death ??= { atCommit, isWritten };
  }

  /** It will not die after all. */
  live(): void {
    this.#death = undefined;
  }

  get isDoomed(): boolean {
    return this.#death !== undefined;
  }

  die(): void {
    this.isOver = true;
    this.engine.wakeTimer.close();
    this.#died.resolve();
  }

  /** Resolves when nothing more will happen by itself. */
  async quiet(): Promise<void> {
    let seen = -1;
    for (let turns = 0; turns < QUIET_TURNS && !this.isOver; turns++) {
      if (this.#underWay > 0 || seen !== this.#stirs || this.#isWriting()) turns = 0;
      seen = this.#stirs;
      await aTurn();
    }
    // Writes in flight still reach the disk, although no process receives the result.
    while (this.#underWay > 0) await aTurn();
  }

  /** Whether output is being gathered for a commit. */
  #isWriting(): boolean {
    return Array.from(this.engine.tasks.values()).some(
      ({ writer }) => writer.settled !== undefined,
    );
  }

  stir(): void {
    this.#stirs++;
  }

  effect(key: string): void {
    this.stir();
    if (!this.isOver) this.#options.effects.push(key);
  }

  works(taskId: string): () => void {
    this.working.push(taskId);
    return () => {
      this.stir();
      this.working.splice(this.working.indexOf(taskId), 1);
    };
  }

  #asSeenFromHere(): Backend {
    const disk = (): Backend => this.#options.disk.backend;
    const tasks: TaskIndex = {
      get: (taskId) => this.#call(() => disk().tasks.get(taskId)),
      record: (taskId) => this.#call(() => disk().tasks.record(taskId)),
      list: (query) => this.#call(() => disk().tasks.list(query)),
      ofContext: (query) => this.#call(() => disk().tasks.ofContext(query)),
      changedSince: (query) => this.#call(() => disk().tasks.changedSince(query)),
      unfinished: (after, limit) => this.#call(() => disk().tasks.unfinished(after, limit)),
      newest: (query) => this.#call(() => disk().tasks.newest(query)),
      waking: (limit, after) => this.#call(() => disk().tasks.waking(limit, after)),
    };
    return {
      tasks,
      // Nothing is pushed or pruned in this world.
      pushes: disk().pushes,
      retention: disk().retention,
      commit: (step) => this.#commit(step),
      read: (taskId, after, limit) => this.#call(() => disk().read(taskId, after, limit)),
      watch: (taskId, wake) => {
        const watcher = { taskId, wake };
        this.#watchers.add(watcher);
        return () => this.#watchers.delete(watcher);
      },
      close: () => Promise.resolve(),
    };
  }

  async #commit(step: CommitStep): Promise<CommitResult> {
    const commit = (): Promise<CommitResult> => this.#options.disk.backend.commit(step);
    if (this.#death !== undefined && --this.#death.atCommit <= 0) {
      if (this.#death.isWritten && !this.isOver) void this.#call(commit);
      this.die();
      return never();
    }
    const committed = await this.#call(commit);
    if (committed.kind === "committed") this.#wake(step.taskId, committed.head);
    return committed;
  }

  #wake(taskId: string, head: number): void {
    for (const watcher of this.#watchers) if (watcher.taskId === taskId) watcher.wake(head);
  }

  async #call<T>(call: () => Promise<T>): Promise<T> {
    if (this.isOver) return never();
    this.stir();
    this.#underWay++;
    const answer = await this.#delayed(call).finally(() => this.#underWay--);
    return this.isOver ? never() : answer;
  }

  async #delayed<T>(call: () => Promise<T>): Promise<T> {
    const { delays } = this.#options;
    const answer = await call();
    const delay = delays[this.#calls++ % delays.length] ?? 0;
    for (let turn = 0; turn < delay; turn++) await aTurn();
    return answer;
  }
}
