import { type AgentDefinition, defineAgent } from "convoke";
import { createMemoryBackend } from "@convoke/engine/memory";
import { type AgentEvent, type Task, isTerminal } from "@convoke/protocol";
import {
  type Backend,
  type Engine,
  type RecoveryReport,
  createEngine,
  recover,
} from "@convoke/engine";
import { expect } from "vitest";
import { CALLER, memoryLogger } from "./an-engine.ts";

export interface WorldOptions extends Partial<AgentDefinition> {
  readonly maxParkedRuns?: number;
  readonly now?: () => number;
  /** Default: the memory backend. */
  readonly backend?: Backend;
  /** Whether the end of the previous process is known to be a crash. Default: unknown. */
  readonly isAfterCrash?: boolean;
}

/** For tests that run without the config of the project, too. */
const POLL = { timeout: 20_000 };

/** A world in which the process can die: the log survives, and the next engine is a new one. */
export class World {
  readonly backend: Backend;
  engine: Engine;
  readonly #options: WorldOptions;
  #life: { isOver: boolean };

  constructor(run: AgentDefinition["run"], options: WorldOptions = {}) {
    this.backend = options.backend ?? createMemoryBackend();
    this.#options = { ...options, run };
    this.#life = { isOver: false };
    this.engine = this.#start();
  }

  /** Drops the process without a shutdown and starts another, optionally with another agent. */
  async restart(changes: Partial<AgentDefinition> = {}): Promise<RecoveryReport> {
    this.#life.isOver = true;
    this.#life = { isOver: false };
    this.engine = this.#start(changes);
    return recover(this.engine, { crashBackoff: { firstMs: 1, longestMs: 1 } });
  }

  async task(taskId: string): Promise<Task> {
    return (await this.engine.tasks.find(taskId, CALLER)).task;
  }

  async events(taskId: string): Promise<readonly AgentEvent[]> {
    const stored = await this.backend.read(taskId, 0, 10_000);
    return stored.map(({ json }) => JSON.parse(json) as AgentEvent);
  }

  /** Resolves when the log contains an event of the kind. */
  async hasEvent(taskId: string, kind: string): Promise<void> {
    await expect
      .poll(async () => (await this.events(taskId)).map((event) => event.kind), POLL)
      .toContain(kind);
  }

  /** Resolves when the log contains the text. */
  async hasText(taskId: string, text: string): Promise<void> {
    await expect.poll(async () => JSON.stringify(await this.events(taskId)), POLL).toContain(text);
  }

  /** Resolves to the task when it has ended or waits for its caller. */
  async settled(taskId: string): Promise<Task> {
    const stored = async () => (await this.backend.tasks.get(taskId))?.state;
    await expect.poll(async () => isSettledState(await stored()), POLL).toBe(true);
    // The engine learns of a commit a moment after the backend can read it.
    const known = async () => (await this.task(taskId)).status.state;
    await expect.poll(async () => isSettledState(await known()), POLL).toBe(true);
    return this.task(taskId);
  }

  #start(changes: Partial<AgentDefinition> = {}): Engine {
    const { maxParkedRuns, now, backend: _, isAfterCrash, ...definition } = this.#options;
    const agent = defineAgent({
      name: "Durable",
      description: "Goes on where it was.",
      run: () => undefined,
      ...definition,
      ...changes,
    });
    return createEngine({
      agent,
      backend: {
        ...mortal(this.backend, this.#life),
        ...(isAfterCrash !== undefined && { isAfterCrash }),
      },
      logger: memoryLogger(),
      idempotency: "always",
      ...(maxParkedRuns !== undefined && { maxParkedRuns }),
      ...(now && { now }),
    });
  }
}

/** Writes of a dead process are never executed. */
function mortal(backend: Backend, life: { readonly isOver: boolean }): Backend {
  return {
    tasks: backend.tasks,
    pushes: backend.pushes,
    retention: backend.retention,
    ...(backend.blobs && { blobs: backend.blobs }),
    commit: (step) => (life.isOver ? new Promise(() => undefined) : backend.commit(step)),
    read: (taskId, after, limit) => backend.read(taskId, after, limit),
    watch: (taskId, wake) => backend.watch(taskId, wake),
    close: () => backend.close(),
  };
}

function isSettledState(state: Task["status"]["state"] | undefined): boolean {
  return (
    state !== undefined &&
    (isTerminal(state) || state === "input-required" || state === "auth-required")
  );
}
