import {
  A2AError,
  type Agent,
  type AgentEvent,
  EXTENSIONS,
  type InternalEvent,
  type Message,
  NOTES,
  type Task,
  type TraceContext,
  type Turn,
} from "@convoke/protocol";
import { startTimer } from "@convoke/protocol/internal";
import { randomUUID } from "node:crypto";
import { LocalTask, journalOf } from "./local-task.ts";

export interface LocalHostOptions {
  /** Hears why a task failed, where its caller is told only that it did. */
  readonly onError: (error: unknown, errorId: string) => void;
  /** What callers have activated; by default approvals. */
  readonly extensions?: ReadonlySet<string>;
  /** The trace that a task belongs to, where somebody knows it. */
  readonly traceOf?: (taskId: string) => TraceContext | undefined;
}

/** How many tasks are kept; the oldest that are over make room. */
const MAX_TASKS = 1000;
const CALLER = { owner: "local" };
/** Whoever has a loop in its hands reads data. */
const ACTIVE: ReadonlySet<string> = new Set([EXTENSIONS.approvals.uri]);

interface Running {
  readonly abort: AbortController;
  parked: PromiseWithResolvers<Message | undefined> | undefined;
  /** An answer that came before the run had come to wait for it. */
  answer: Message | undefined;
}

/**
 * Lets an agent work without a server: it makes the ids, keeps tasks in memory,
 * and gives each run a turn with a journal, so that one that was left can go on.
 */
export class LocalHost {
  readonly #agent: Agent;
  readonly #options: LocalHostOptions;
  readonly #tasks = new Map<string, LocalTask>();
  readonly #running = new Map<LocalTask, Running>();

  constructor(agent: Agent, options: LocalHostOptions) {
    this.#agent = agent;
    this.#options = options;
  }

  find(taskId: string): LocalTask | undefined {
    return this.#tasks.get(taskId);
  }

  /** A new task for a message. It does not run yet. */
  create(
    message: Message,
    ids: { readonly taskId: string; readonly contextId: string },
  ): LocalTask {
    const { taskId, contextId } = ids;
    const conversation = [...this.#tasks.values()]
      .filter(({ task }) => task.contextId === contextId)
      .flatMap((earlier) => earlier.told());
    const received = { ...message, taskId, contextId };
    const opening: Task = {
      kind: "task",
      id: taskId,
      contextId,
      status: { state: "submitted", timestamp: new Date().toISOString() },
      history: [received],
    };
    const local = new LocalTask(opening, received, conversation);
    this.#tasks.set(taskId, local);
    this.#makeRoom();
    return local;
  }

  isRunning(local: LocalTask): boolean {
    return this.#running.has(local);
  }

  /** Works on the task until it is over or waits: for the first time, or by its journal. */
  start(local: LocalTask): void {
    const running: Running = {
      abort: new AbortController(),
      parked: undefined,
      answer: undefined,
    };
    this.#running.set(local, running);
    const isNew = local.log.length === 1;
    if (!isNew) local.beginAnew();
    if (local.task.status.state !== "working") local.status("working");
    void this.#drive(local, running);
  }

  /** Gives a message to a task that waits; what is wrong with it is thrown. */
  answer(local: LocalTask, message: Message): void {
    const { task } = local;
    const running = this.#running.get(local);
    if (!local.isWaiting) {
      throw new A2AError("UnsupportedOperation", `task ${task.id} is ${task.status.state}`);
    }
    const received = { ...message, taskId: task.id, contextId: task.contextId };
    const now = new Date();
    const stored = this.#agent.accept?.(task, received, now) ?? received;
    const timestamp = now.toISOString();
    local.append({ kind: "internal:message", taskId: task.id, message: stored, timestamp });
    local.status("working");
    if (running === undefined) return this.start(local);
    if (running.parked === undefined) running.answer = received;
    else running.parked.resolve(received);
    running.parked = undefined;
    return undefined;
  }

  /** Stops the run; the task can be gone on with. One that only waits is left waiting. */
  leave(local: LocalTask): void {
    const running = this.#running.get(local);
    if (running === undefined || local.isWaiting || local.isOver) return;
    this.#running.delete(local);
    running.abort.abort(new Error("nobody listens any more"));
  }

  cancel(local: LocalTask): void {
    const running = this.#running.get(local);
    this.#running.delete(local);
    local.status("canceled");
    running?.abort.abort(new Error("the task was canceled"));
    running?.parked?.reject(new Error("the task was canceled"));
  }

  /** Stops every run, also those that wait. Their tasks are left as they are. */
  async close(): Promise<void> {
    const runs = [...this.#running.values()];
    this.#running.clear();
    const reason = new Error("the loop was closed");
    for (const { abort, parked } of runs) {
      abort.abort(reason);
      parked?.reject(reason);
    }
    await this.#agent[Symbol.asyncDispose]?.();
  }

  async #drive(local: LocalTask, running: Running): Promise<void> {
    const isCurrent = (): boolean => this.#running.get(local) === running;
    try {
      for await (const yielded of this.#agent.run(this.#turn(local, running))) {
        if (!isCurrent()) return;
        for (const event of [yielded].flat() as readonly AgentEvent[]) {
          if (event.kind !== "task") local.append(withTime(event));
        }
      }
      if (isCurrent() && !local.isWaiting) local.status("completed");
    } catch (error) {
      if (!isCurrent()) return;
      const errorId = randomUUID();
      this.#options.onError(error, errorId);
      const text = A2AError.is(error)
        ? error.detail
        : `The agent failed; this is error ${errorId}.`;
      local.status("failed", { text, metadata: { error: text, reason: "agent-error", errorId } });
    } finally {
      if (isCurrent()) this.#running.delete(local);
    }
  }

  #turn(local: LocalTask, running: Running): Turn {
    let ids = 0;
    const { extensions = ACTIVE, traceOf } = this.#options;
    const trace = traceOf?.(local.task.id);
    return {
      task: local.opening,
      message: local.message,
      conversation: local.conversation,
      journal: journalOf(local),
      attempt: 1,
      caller: CALLER,
      extensions,
      ...(trace && { trace }),
      signal: running.abort.signal,
      inbox: { next: () => new Promise(() => undefined) },
      park: (until, recall) => this.#park(running, { until, recall }, local),
      durable: () => Promise.resolve(),
      now: () => new Date(),
      id: () => `${local.task.id}-1-${++ids}`,
    };
  }

  async #park(
    running: Running,
    {
      until,
      recall,
    }: { readonly until: Date | undefined; readonly recall: AbortSignal | undefined },
    local: LocalTask,
  ): Promise<Message | undefined> {
    const { answer } = running;
    running.answer = undefined;
    if (answer !== undefined) return answer;
    const parked = Promise.withResolvers<Message | undefined>();
    running.parked = parked;
    const ms = until === undefined ? undefined : Math.max(0, until.getTime() - Date.now());
    const goOn = (kind: typeof NOTES.recalled | typeof NOTES.expired) => (): void => {
      if (running.parked !== parked) return;
      running.parked = undefined;
      const timestamp = new Date().toISOString();
      local.append({ kind, taskId: local.task.id, timestamp });
      local.status("working");
      parked.resolve(undefined);
    };
    const onRecall = goOn(NOTES.recalled);
    const expire = goOn(NOTES.expired);
    const stopTimer = ms === undefined ? undefined : startTimer(ms, expire, { unref: true });
    recall?.addEventListener("abort", onRecall, { once: true });
    if (recall?.aborted === true) onRecall();
    try {
      return await parked.promise;
    } finally {
      stopTimer?.();
      recall?.removeEventListener("abort", onRecall);
    }
  }

  #makeRoom(): void {
    for (const [taskId, local] of this.#tasks) {
      if (this.#tasks.size <= MAX_TASKS) return;
      if (local.isOver) this.#tasks.delete(taskId);
    }
  }
}

/** Statuses say when they were written. */
function withTime(event: AgentEvent): AgentEvent {
  if (event.kind !== "status-update") return event;
  const update = event as Extract<AgentEvent, { kind: "status-update" }>;
  const timestamp = update.status.timestamp ?? new Date().toISOString();
  return { ...update, status: { ...update.status, timestamp } };
}
