import {
  type Engine,
  type Logger,
  MEMORY_RETENTION,
  type RunningEngine,
  acceptMessage,
  cancelTaskOperation,
  closesAtFinal,
  followLog,
  pauseTask,
  resumePausedTask,
  startEngine,
} from "@convoke/engine";
import { activeTrace } from "@convoke/engine/tracing";
import {
  A2AError,
  type Agent,
  type AgentEvent,
  type Caller,
  ENGINE_EVENTS,
  EXTENSIONS,
  type Message,
  type Task,
  isTerminal,
} from "@convoke/protocol";
import { type LoopStorage, openStorage } from "./loop-storage.ts";

const CALLER: Caller = { owner: "local" };

/** Code that holds a loop reads data, so approvals come as data. */
const EXTENSIONS_IN_USE: ReadonlySet<string> = new Set([EXTENSIONS.approvals.uri]);

/** The engine's own bookkeeping. Every other event of a log is shown. */
const HIDDEN: ReadonlySet<string> = new Set([
  "internal:activated",
  ENGINE_EVENTS.attempt,
  ENGINE_EVENTS.cancel,
  ENGINE_EVENTS.turnEnd,
]);

/** Where in the log of a task a turn begins. */
export interface TurnPosition {
  readonly taskId: string;
  readonly after: number;
}

/** The engine of a loop that runs without a server. A task runs only while something reads it. */
export class LoopEngine {
  readonly #engine: Engine;
  readonly #running: RunningEngine;
  readonly #readers = new Map<string, number>();

  private constructor(running: RunningEngine) {
    this.#engine = running.engine;
    this.#running = running;
  }

  /** Tasks that an earlier process left unfinished stay paused until they are resumed. */
  static async start(agent: Agent, storage: LoopStorage): Promise<LoopEngine> {
    const { backend, key } = await openStorage(agent, storage, LOGGER);
    const isInMemory = storage.data === undefined && storage.backend === undefined;
    const running = await startEngine({
      agent,
      backend,
      key,
      logger: LOGGER,
      push: false,
      resumeOnStart: false,
      ...(isInMemory && { retention: MEMORY_RETENTION }),
    });
    return new LoopEngine(running);
  }

  /** Gives a message to the task with that id or, if there is none, to a new task that gets the id. */
  async send(message: Message, taskId: string | undefined): Promise<TurnPosition> {
    const stored = taskId === undefined ? undefined : await this.#engine.backend.tasks.get(taskId);
    const { live, after } = await acceptMessage(this.#engine, {
      ...(stored === undefined
        ? { message, newTaskId: taskId }
        : { message: { ...message, taskId: stored.taskId } }),
      caller: CALLER,
      trace: activeTrace(),
      extensions: EXTENSIONS_IN_USE,
    });
    return { taskId: live.writer.taskId, after };
  }

  /** The task, and where its log ends. */
  find(taskId: string): Promise<{ readonly task: Task; readonly head: number }> {
    return this.#engine.tasks.find(taskId, CALLER);
  }

  /**
   * Calls `take` with the events of a turn, up to the status that ends it. A paused task resumes;
   * when the last of its readers leaves before the end, by the signal, it is paused at once.
   */
  async follow(
    { taskId, after }: TurnPosition,
    signal: AbortSignal,
    take: (event: AgentEvent) => void,
  ): Promise<void> {
    const leave = this.#join(taskId);
    const pause = (): void => {
      if (leave() === 0) pauseTask(this.#engine, taskId);
    };
    signal.addEventListener("abort", pause, { once: true });
    if (signal.aborted) return pause();
    let isOver = false;
    try {
      await resumePausedTask(this.#engine, taskId, CALLER);
      for await (const entries of await this.#read({ taskId, after }, signal)) {
        for (const { event } of entries) {
          if (HIDDEN.has(event.kind)) continue;
          // Left before the event is handed over: what it sets off, such as an answer, must not be paused.
          isOver = closesAtFinal(event);
          if (isOver) leave();
          take(event);
        }
      }
    } catch (error) {
      if (!this.#engine.closing.aborted) throw error;
    } finally {
      leave();
      signal.removeEventListener("abort", pause);
    }
    if (!this.#engine.closing.aborted || isOver) return;
    throw new A2AError("Unavailable", `the loop was closed; task ${taskId} can be resumed`);
  }

  /** Rejects for a task that has ended, also if it was canceled before. */
  cancel(taskId: string): Promise<Task> {
    const engine = this.#engine;
    const call = { engine, agent: engine.agents.first, caller: CALLER };
    // In version 0.3 canceling twice is an error.
    return cancelTaskOperation(
      { taskId },
      {
        ...call,
        version: "0.3",
        trace: undefined,
        lastEventId: undefined,
      },
    );
  }

  /** Stops every run and leaves their tasks as they are. */
  close(): Promise<void> {
    return this.#running.close();
  }

  async #read(
    { taskId, after }: TurnPosition,
    signal: AbortSignal,
  ): Promise<ReturnType<typeof followLog>> {
    const engine = this.#engine;
    const { task, head } = await this.find(taskId);
    const source = {
      engine,
      agent: engine.agents.first,
      taskId,
      live: engine.tasks.get(taskId),
      after,
      owner: CALLER.owner,
      closesAfter: closesAtFinal,
      ...(isTerminal(task.status.state) && { end: head }),
    };
    return followLog(source, signal);
  }

  /** Counts a reader. Returns how to leave, which gives the number of readers that are left, once. */
  #join(taskId: string): () => number | undefined {
    const count = (change: number): number => {
      const readers = (this.#readers.get(taskId) ?? 0) + change;
      if (readers === 0) this.#readers.delete(taskId);
      else this.#readers.set(taskId, readers);
      return readers;
    };
    count(1);
    let hasLeft = false;
    return () => {
      if (hasLeft) return undefined;
      hasLeft = true;
      return count(-1);
    };
  }
}

/** What goes wrong outside the agent itself, such as in the storage, is a warning of the process. */
const LOGGER: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: report,
  error: report,
};

function report(
  message: string,
  { error, ...fields }: Readonly<Record<string, unknown>> = {},
): void {
  const cause = error instanceof Error ? `: ${error.stack ?? error.message}` : "";
  process.emitWarning(`${message} ${JSON.stringify(fields)}${cause}`, "AgentLoopWarning");
}
