import { createMemoryBackend } from "@convoke/engine/memory";
import {
  type AgentEvent,
  type InternalEvent,
  type Message,
  type StatusUpdateEvent,
  type Task,
  type TraceContext,
  isInterrupted,
  isTerminal,
  userMessage,
} from "@convoke/protocol";
import { type ModelAgentDefinition, defineAgent } from "@convoke/runtime";
import {
  type Backend,
  type CommitResult,
  type CommitStep,
  type Engine,
  type RecoveryReport,
  acceptMessage,
  createEngine,
  recover,
} from "@convoke/engine";
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { CALLER, memoryLogger } from "../engine/an-engine.ts";

export interface LoopWorldOptions {
  /** Default: the memory backend. */
  readonly backend?: Backend;
  readonly maxParkedRuns?: number;
  readonly now?: () => number;
  /** The extensions that callers activate. Default: none. */
  readonly extensions?: ReadonlySet<string>;
  /** The trace that callers send. Default: none. */
  readonly trace?: TraceContext;
}

/** An agent with a model on the real engine, in a world in which the process can die. */
export class LoopWorld {
  readonly backend: Backend;
  engine: Engine;
  readonly logger = memoryLogger();
  readonly #options: LoopWorldOptions;
  #definition: Partial<ModelAgentDefinition>;
  #life = aLife();

  constructor(definition: Partial<ModelAgentDefinition>, options: LoopWorldOptions = {}) {
    this.backend = options.backend ?? createMemoryBackend();
    this.#options = options;
    this.#definition = definition;
    this.engine = this.#start();
  }

  /** Drops the process without a shutdown and starts another, which can die as well. */
  async restart(
    changes: Partial<ModelAgentDefinition> = {},
    dieAfter = Number.POSITIVE_INFINITY,
  ): Promise<RecoveryReport> {
    this.die();
    await this.#life.lastCommit;
    this.#life = { ...aLife(), eventsLeft: dieAfter };
    this.#definition = { ...this.#definition, ...changes };
    this.engine = this.#start();
    return recover(this.engine);
  }

  /** Nothing that this process still does is stored. */
  die(): void {
    this.#life.isOver = true;
  }

  /**
   * The process dies when this many more events are stored, before it is notified of the last one.
   */
  dieAfter(events: number): void {
    this.#life.eventsLeft = events;
  }

  get isDead(): boolean {
    return this.#life.isOver;
  }

  /** Resolves when all pending writes of a dead process are stored. */
  async atRest(): Promise<void> {
    await this.#life.lastCommit;
  }

  /** Sends a message to a new task, or to one that waits, and returns the task's id. */
  async tell(
    content: Parameters<typeof userMessage>[1],
    more: Partial<Message> = {},
  ): Promise<string> {
    const message = { ...userMessage(randomUUID(), content), ...more };
    const { extensions, trace } = this.#options;
    const incoming = { message, caller: CALLER, extensions, trace };
    const { live } = await acceptMessage(this.engine, incoming);
    return live.task.id;
  }

  /** The same, and waits until the task has ended or asks. */
  async ask(
    content: Parameters<typeof userMessage>[1],
    more: Partial<Message> = {},
  ): Promise<Task> {
    return this.settled(await this.tell(content, more));
  }

  async events(taskId: string): Promise<readonly AgentEvent[]> {
    const stored = await this.backend.read(taskId, 0, 100_000);
    return stored.map(({ json }) => JSON.parse(json) as AgentEvent);
  }

  /** The states that the task has had, in order. */
  async states(taskId: string): Promise<readonly string[]> {
    return (await this.events(taskId)).flatMap((event) =>
      event.kind === "status-update" ? [(event as StatusUpdateEvent).status.state] : [],
    );
  }

  /** The journal events of one kind. */
  async notes(taskId: string, kind: InternalEvent["kind"]): Promise<readonly InternalEvent[]> {
    const events = await this.events(taskId);
    return events.filter((event): event is InternalEvent => event.kind === kind);
  }

  async hasEvent(taskId: string, kind: string, count = 1): Promise<void> {
    await expect
      .poll(async () => (await this.events(taskId)).filter((event) => event.kind === kind).length, {
        timeout: 20_000,
        interval: 5,
      })
      .toBeGreaterThanOrEqual(count);
  }

  async settled(taskId: string): Promise<Task> {
    const find = async (): Promise<Task> => (await this.engine.tasks.find(taskId, CALLER)).task;
    const isSettled = async (): Promise<boolean> => {
      const { state } = (await find()).status;
      return isTerminal(state) || isInterrupted(state);
    };
    await expect.poll(isSettled, { timeout: 20_000, interval: 5 }).toBe(true);
    return find();
  }

  #start(): Engine {
    const { maxParkedRuns, now } = this.#options;
    const agent = defineAgent({
      name: "Thinker",
      description: "Thinks with a model.",
      model: "demo",
      ...this.#definition,
    });
    return createEngine({
      agent,
      backend: mortal(this.backend, this.#life),
      logger: this.logger,
      idempotency: "always",
      ...(maxParkedRuns !== undefined && { maxParkedRuns }),
      ...(now && { now }),
    });
  }
}

interface Life {
  isOver: boolean;
  eventsLeft: number;
  /** Settles when the last pending commit is stored. */
  lastCommit: Promise<unknown>;
}

function aLife(): Life {
  return {
    isOver: false,
    eventsLeft: Number.POSITIVE_INFINITY,
    lastCommit: Promise.resolve(),
  };
}

/** Later writes of a dead process are not executed, and it gets no results. */
function mortal(backend: Backend, life: Life): Backend {
  return {
    tasks: backend.tasks,
    pushes: backend.pushes,
    retention: backend.retention,
    commit: async (step) => {
      if (life.isOver) return new Promise(() => undefined);
      const left = life.eventsLeft;
      life.eventsLeft -= step.events.length;
      // Nothing is passed to the storage after the last event, however long that takes.
      life.isOver = life.eventsLeft <= 0;
      const commit = life.isOver ? commitSome(backend, step, left) : backend.commit(step);
      life.lastCommit = commit;
      const committed = await commit;
      return life.isOver ? new Promise(() => undefined) : committed;
    },
    read: (taskId, after, limit) => backend.read(taskId, after, limit),
    watch: (taskId, wake) => backend.watch(taskId, wake),
    close: () => backend.close(),
  };
}

/**
 * The first events of a step. Which events share a commit is arbitrary, so a crash may come between
 * any two of them; a message and its status are written together.
 */
async function commitSome(
  backend: Backend,
  step: CommitStep,
  count: number,
): Promise<CommitResult> {
  if (step.message !== undefined || count >= step.events.length) return backend.commit(step);
  const events = step.events.slice(0, count);
  const statuses = events
    .map((json) => JSON.parse(json) as AgentEvent)
    .flatMap((event) => (event.kind === "status-update" ? [event as StatusUpdateEvent] : []));
  const last = statuses.at(-1)?.status;
  const state = last?.state ?? (await backend.tasks.get(step.taskId))?.state ?? step.state;
  const { snapshot: _, ...rest } = step;
  return backend.commit({ ...rest, events, state });
}
