import {
  A2AError,
  type Agent,
  type AgentEvent,
  type Caller,
  type Message,
  type TaskState,
  type TraceContext,
  isTerminal,
} from "@convoke/protocol";
import type { Logger } from "../logger.ts";
import type { Backend, TaskRecord } from "./backend.ts";
import { explainFailure } from "./explain-failure.ts";
import { LiveTask } from "./live-task.ts";
import { type Folded, loadTask } from "./load-task.ts";
import { Run } from "./run.ts";
import { statusEvent } from "./status-event.ts";
import { TaskWriter, type TaskWriterOptions } from "./task-writer.ts";
import { type TurnFacts, createTurn } from "./turn.ts";

export interface EngineOptions {
  readonly agent: Agent;
  readonly backend: Backend;
  readonly logger: Logger;
  /** The clock, in milliseconds. */
  readonly now?: () => number;
}

/**
 * Holds the tasks this process works on, each with its one writer, and runs
 * the agent on them. What happens to a task is in the files beside it:
 * `accept-message`, `cancel-task`, `recover`. Everything read here is what the
 * log says.
 */
export class Engine {
  readonly agent: Agent;
  readonly backend: Backend;
  readonly now: () => number;
  #logger: Logger;
  #live = new Map<string, LiveTask>();

  constructor(options: EngineOptions) {
    this.agent = options.agent;
    this.backend = options.backend;
    this.#logger = options.logger;
    this.now = options.now ?? Date.now;
  }

  /** The task and its place in the log, if the caller may see it. */
  async find(taskId: string, caller: Caller): Promise<Folded> {
    const live = this.#live.get(taskId);
    if (live?.owner === caller.owner && live.writer.head > 0) {
      return { task: live.task, head: live.writer.head };
    }
    return loadTask(this.backend, await this.record(taskId, caller));
  }

  /** What the index knows of the task. A foreign id looks like an unknown one (G13). */
  async record(taskId: string, caller: Caller): Promise<TaskRecord> {
    const record = await this.backend.tasks.get(taskId);
    if (record?.owner === caller.owner) return record;
    throw new A2AError("TaskNotFound", `there is no task ${taskId}`, { details: { taskId } });
  }

  /** The task while this process works on it: readers use its memory instead of the store. */
  live(taskId: string): LiveTask | undefined {
    return this.#live.get(taskId);
  }

  /** Makes room for a task that is about to be created. */
  create(facts: { taskId: string; owner: string; contextId: string; now: number }): LiveTask {
    const { taskId, owner, contextId, now } = facts;
    const standing = { state: "submitted", statusAt: now } as const;
    const writer = this.#writer({ taskId, epoch: 1, standing, listed: false });
    const live = new LiveTask({ owner, contextId, writer });
    this.#live.set(taskId, live);
    return live;
  }

  /** The task as this process holds it, opened from the store when it does not yet. */
  async open(record: TaskRecord): Promise<LiveTask> {
    const held = this.#live.get(record.taskId);
    if (held !== undefined) return held;
    const folded = await loadTask(this.backend, record);
    const opened = this.#live.get(record.taskId);
    // Someone else may have opened it meanwhile, and a task has one writer.
    if (opened !== undefined) return opened;
    const { taskId, owner, contextId, epoch, listed, statusAt } = record;
    const standing = { state: folded.task.status.state, statusAt };
    const writer = this.#writer({ taskId, epoch, standing, listed, folded });
    const live = new LiveTask({ owner, contextId, writer });
    if (!isTerminal(standing.state)) this.#live.set(taskId, live);
    return live;
  }

  /** Lets go of a task that nobody works on; the store has all of it. */
  release(live: LiveTask): void {
    if (live.run === undefined) this.#live.delete(live.writer.taskId);
  }

  /** Starts the agent on a turn. */
  start(live: LiveTask, facts: TurnFacts): void {
    const { turn, inbox, abort } = createTurn(live, facts, this.now);
    const run = new Run({
      agent: this.agent,
      writer: live.writer,
      contextId: live.contextId,
      turn,
      inbox,
      abort,
      epoch: facts.epoch,
      announced: facts.announced,
      explain: (error) => explainFailure(error, live.writer.taskId, this.#logger),
    });
    live.run = run;
    void run.ended.then(() => {
      if (live.run === run) live.run = undefined;
      this.release(live);
    });
  }

  /** A status in the engine's own name. */
  status(live: LiveTask, state: TaskState, extra: StatusExtra = {}): AgentEvent {
    const { message, trace, reason } = extra;
    const metadata = { ...(reason && { reason }), ...trace };
    return statusEvent({
      taskId: live.writer.taskId,
      contextId: live.contextId,
      state,
      timestamp: live.writer.statusTime(this.now()),
      ...(message && { message }),
      ...(Object.keys(metadata).length > 0 && { metadata }),
    });
  }

  /** Stops every run. What they leave unfinished is for the next process to end. */
  close(): void {
    for (const { writer, run } of this.#live.values()) {
      writer.close();
      run?.abort(new Error("the server is stopping"));
    }
    this.#live.clear();
  }

  #writer(options: Omit<TaskWriterOptions, "backend" | "onStorageError">): TaskWriter {
    const onStorageError = (error: unknown): void =>
      this.#logger.error("the storage failed, trying again", { taskId: options.taskId, error });
    return new TaskWriter({ ...options, backend: this.backend, onStorageError });
  }
}

interface StatusExtra {
  readonly message?: Message;
  readonly trace?: TraceContext | undefined;
  readonly reason?: string;
}
