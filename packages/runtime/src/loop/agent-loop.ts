import {
  A2AError,
  type A2APart,
  type AgentEvent,
  type Message,
  type StatusUpdateEvent,
  type Task,
  userMessage,
} from "@convoke/protocol";
import type { Observable as ObservableType } from "rxjs";
// The class alone: the whole of rxjs takes ten times as long to load.
import { Observable } from "rxjs/internal/Observable";
import { randomUUID } from "node:crypto";
import { type AgentFacts, agentInfo } from "../agent-info.ts";
import type { LoopDefinition } from "./loop-settings.ts";
import { LocalHost } from "./local-host.ts";
import type { LocalTask } from "./local-task.ts";
import { modelAgent } from "./model-agent.ts";

/** A loop that runs alone; its name is "agent" by default. */
export interface AgentLoopDefinition
  extends LoopDefinition, Partial<Pick<AgentFacts, "name" | "description">> {
  /** Hears why a task failed, where its caller is told only that it did. By default a warning of the process. */
  readonly onError?: (error: unknown, errorId: string) => void;
}

export interface ExecuteOptions {
  /** The conversation; by default a new one. */
  readonly contextId?: string;
  /** A task that waits is answered; any other id is that of a new task. */
  readonly taskId?: string;
}

/**
 * The loop by itself, without a server: each call is a task, and its events are
 * A2A events as they stand. Subscribing starts the task, once; whoever
 * subscribes later hears it from its beginning. When the last one leaves before
 * its end, the model call and every tool are aborted at once.
 */
export class AgentLoop implements AsyncDisposable {
  readonly #host: LocalHost;

  constructor(definition: AgentLoopDefinition) {
    const { name = "agent", description = "A loop that runs alone.", ...rest } = definition;
    const { onError = warn, ...loop } = rest;
    const info = agentInfo({ name, description });
    this.#host = new LocalHost(modelAgent(info, loop), { onError });
  }

  /** Works on a prompt. */
  execute(prompt: string, options: ExecuteOptions = {}): ObservableType<AgentEvent> {
    return this.invoke([{ kind: "text", text: prompt }], options);
  }

  /** The same for any parts. */
  invoke(parts: readonly A2APart[], options: ExecuteOptions = {}): ObservableType<AgentEvent> {
    const message = userMessage(randomUUID(), parts);
    let local: LocalTask | undefined;
    let from = 0;
    return new Observable<AgentEvent>((subscriber) => {
      let isFirst = false;
      try {
        if (local === undefined) {
          local = this.#taskFor(options);
          isFirst = true;
          from = local === undefined ? 0 : local.log.length;
          local ??= this.#create(message, options);
        }
      } catch (error) {
        return subscriber.error(error);
      }
      const task = local;
      return this.#follow(subscriber, task, {
        from,
        begin: () => {
          if (!isFirst) return;
          if (from === 0) this.#host.start(task);
          else this.#host.answer(task, message);
        },
      });
    });
  }

  /** Resolves to the task when it is over, or waits for its caller. */
  invokeSync(parts: readonly A2APart[], options: ExecuteOptions = {}): Promise<Task> {
    return new Promise((resolve, reject) => {
      let taskId = options.taskId;
      this.invoke(parts, options).subscribe({
        next: (event) => {
          if (event.kind === "task") taskId = (event as Task).id;
        },
        error: reject,
        complete: () => resolve(this.#host.find(taskId!)!.task),
      });
    });
  }

  /**
   * Goes on with a task that was left, by its journal: what was finished is not
   * done again. The first event is the task with all that it has; of one that is
   * over, its last status follows.
   */
  resume(taskId: string): ObservableType<AgentEvent> {
    return new Observable<AgentEvent>((subscriber) => {
      const local = this.#host.find(taskId);
      if (local === undefined) return subscriber.error(unknownTask(taskId));
      subscriber.next(local.task);
      if (local.isOver || local.isWaiting) {
        subscriber.next(lastStatus(local));
        return subscriber.complete();
      }
      return this.#follow(subscriber, local, {
        from: local.log.length,
        begin: () => {
          if (!this.#host.isRunning(local)) this.#host.start(local);
        },
      });
    });
  }

  /** Ends a task; whoever listens hears that it is canceled. */
  cancel(taskId: string): void {
    const local = this.#host.find(taskId);
    if (local === undefined) throw unknownTask(taskId);
    if (local.isOver) {
      const { state } = local.task.status;
      throw new A2AError("TaskNotCancelable", `task ${taskId} is ${state} already`);
    }
    this.#host.cancel(local);
  }

  /** Stops what runs, which can be gone on with, and ends the MCP servers that it started. */
  close(): Promise<void> {
    return this.#host.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The task that a message answers, if it answers one. */
  #taskFor({ taskId, contextId }: ExecuteOptions): LocalTask | undefined {
    const local = taskId === undefined ? undefined : this.#host.find(taskId);
    if (local === undefined) return undefined;
    const { id, status, contextId: known } = local.task;
    if (contextId !== undefined && contextId !== known) {
      throw new A2AError("InvalidParams", `contextId is not the context of task ${id}`);
    }
    if (!local.isWaiting) {
      throw new A2AError(
        "UnsupportedOperation",
        `task ${id} is ${status.state}, and does not wait`,
      );
    }
    return local;
  }

  #create(message: Message, options: ExecuteOptions): LocalTask {
    const { taskId = randomUUID(), contextId = randomUUID() } = options;
    return this.#host.create(message, { taskId, contextId });
  }

  /** Tells of a task from a place of its log on, until it is over or asks. Returns how to stop. */
  #follow(
    subscriber: {
      readonly closed: boolean;
      next(event: AgentEvent): void;
      error(error: unknown): void;
      complete(): void;
    },
    local: LocalTask,
    { from, begin }: { readonly from: number; readonly begin: () => void },
  ): () => void {
    const tell = (event: AgentEvent): void => {
      if (subscriber.closed) return;
      subscriber.next(event);
      if (event.kind === "status-update" && (event as StatusUpdateEvent).final) {
        subscriber.complete();
      }
    };
    for (const event of local.log.slice(from)) tell(event);
    const stop = local.listen(tell);
    const leave = (): void => {
      stop();
      if (!local.isHeard) this.#host.leave(local);
    };
    try {
      begin();
    } catch (error) {
      leave();
      subscriber.error(error);
    }
    return leave;
  }
}

function lastStatus({ task }: LocalTask): StatusUpdateEvent {
  const { id: taskId, contextId, status } = task;
  return { kind: "status-update", taskId, contextId, status, final: true };
}

function unknownTask(taskId: string): A2AError {
  return new A2AError("TaskNotFound", `there is no task ${taskId}`);
}

function warn(error: unknown, errorId: string): void {
  const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.emitWarning(`an agent failed (error ${errorId}): ${cause}`, "AgentLoopWarning");
}
