import {
  A2AError,
  type A2APart,
  type Agent,
  type AgentEnvironment,
  type AgentEvent,
  type AgentInfo,
  type AgentTool,
  type InternalEvent,
  type Message,
  type Metadata,
  type StatusUpdateEvent,
  type Task,
  type Turn,
  agentMessage,
  isInterrupted,
  isTerminal,
  userMessage,
} from "@convoke/protocol";
import { randomUUID } from "node:crypto";
import type { Observable, Subscriber } from "rxjs";
import { type AgentFacts, agentIdField, agentInfo } from "./agent-info.ts";
import type { LoopDefinition } from "../run/loop-settings.ts";
import { type ModelAgent, modelAgent } from "../loop/model-agent.ts";
import type { LoopEngine, TurnPosition } from "./loop-engine.ts";
import type { LoopStorage } from "./loop-storage.ts";
import { loadRxjs } from "../tools/rxjs.ts";

/** A loop that can run without a server. */
export interface AgentLoopDefinition
  extends LoopDefinition, LoopStorage, Partial<Pick<AgentFacts, "id" | "name" | "description">> {
  /**
   * Called with the error of a task that failed unexpectedly. The task itself carries only the
   * `errorId`, because the text of the error may hold secrets. Default: a warning of the process.
   */
  readonly onError?: (error: unknown, errorId: string) => void;
}

export interface ExecuteOptions {
  /** The conversation. Default: a new one. */
  readonly contextId?: string;
  /** The id of a task that waits for its caller, which the message answers, or the id for a new task. */
  readonly taskId?: string;
}

/**
 * The agent loop without a server. Each call is a task, and an Observable of its events: A2A
 * events as they stand, and the loop's own notes (`internal:…`). Subscribing starts the task, once;
 * a later subscriber gets its events from the beginning. When the last subscriber leaves before
 * the end, the model call and every tool are aborted at once, and the task can be resumed. The
 * status of a completed task carries the final answer as its message.
 *
 * A loop is also an agent: `serve(loop)` serves it.
 *
 * @example
 * const loop = new AgentLoop({ model: "demo", data: ".tasks" });
 * loop.execute("Say hello.").subscribe((event) => console.log(event.kind));
 */
export class AgentLoop implements Agent, AsyncDisposable {
  readonly #agent: ModelAgent;
  readonly #storage: LoopStorage;
  readonly #onError: (error: unknown, errorId: string) => void;
  #engine: Promise<LoopEngine> | undefined;
  #isClosed = false;

  constructor(definition: AgentLoopDefinition) {
    if ((definition as Partial<AgentLoopDefinition> | undefined)?.model === undefined) {
      throw new TypeError(
        'AgentLoop needs a model: new AgentLoop({ model: "anthropic:claude-sonnet-4-5" }), or { model: "demo" } to try it without a key',
      );
    }
    const { name = "agent", description = "An agent loop.", ...rest } = definition;
    const { onError = warn, data, backend, id: _, ...loop } = rest;
    if (data !== undefined && backend !== undefined) {
      throw new TypeError("AgentLoop takes either data or backend, not both");
    }
    this.#agent = modelAgent(agentInfo({ name, description }), loop, agentIdField(definition));
    this.#storage = { data, backend };
    this.#onError = onError;
  }

  /** Works on a prompt. */
  execute(prompt: string, options: ExecuteOptions = {}): Observable<AgentEvent> {
    return this.invoke([{ kind: "text", text: prompt }], options);
  }

  /** Works on a message with any parts. */
  invoke(parts: readonly A2APart[], options: ExecuteOptions = {}): Observable<AgentEvent> {
    const { contextId, taskId } = options;
    const message: Message = {
      ...userMessage(randomUUID(), parts),
      ...(contextId !== undefined && { contextId }),
    };
    let sent: Promise<TurnPosition> | undefined;
    return this.#observe((engine) => (sent ??= engine.send(message, taskId)));
  }

  /** Works on a message and resolves to the task once it has ended or waits for its caller. */
  async invokeSync(parts: readonly A2APart[], options: ExecuteOptions = {}): Promise<Task> {
    let { taskId } = options;
    await new Promise<void>((resolve, reject) => {
      this.invoke(parts, options).subscribe({
        next: (event) => {
          if (event.kind === "task") taskId = (event as Task).id;
        },
        error: reject,
        complete: resolve,
      });
    });
    const engine = await this.#open();
    return (await engine.find(taskId!)).task;
  }

  /**
   * Resumes a task from its journal: what was finished is not done again. The first event is the
   * task as it is. If it has ended or waits for its caller, its last status follows.
   */
  resume(taskId: string): Observable<AgentEvent> {
    return this.#observe(async (engine, subscriber) => {
      const { task, head } = await engine.find(taskId);
      subscriber.next(task);
      const { state } = task.status;
      if (!isTerminal(state) && !isInterrupted(state)) return { taskId, after: head };
      subscriber.next(lastStatus(task));
      return undefined;
    });
  }

  /** Cancels a task. Rejects if there is no such task, or if it has ended. */
  async cancel(taskId: string): Promise<Task> {
    return (await this.#open()).cancel(taskId);
  }

  /** Stops what runs, without ending the tasks, and closes the storage and the MCP servers. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const engine = this.#engine;
    this.#engine = undefined;
    // An engine that could not be started has closed what it opened.
    const started = await engine?.catch(() => undefined);
    if (started === undefined) await this.#agent[Symbol.asyncDispose]?.();
    else await started.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // As an agent that is served

  get id(): string | undefined {
    return this.#agent.id;
  }

  get info(): AgentInfo {
    return this.#agent.info;
  }

  run(turn: Turn): ReturnType<Agent["run"]> {
    return this.#agent.run(turn);
  }

  accept(task: Task, message: Message, at: Date): Message {
    return this.#agent.accept?.(task, message, at) ?? message;
  }

  abandon(task: Task, journal: readonly InternalEvent[]): void {
    this.#agent.abandon(task, journal);
  }

  report(task: Task): Metadata {
    return this.#agent.report(task);
  }

  tools(): readonly AgentTool[] {
    return this.#agent.tools();
  }

  prepare(place: AgentEnvironment): void {
    this.#agent.prepare?.(place);
  }

  async drain(withinMs: number): Promise<void> {
    await this.#agent.drain?.(withinMs);
  }

  /** Loaded and started with the first call: a loop that is served runs on the server's engine. */
  #open(): Promise<LoopEngine> {
    if (this.#isClosed) return Promise.reject(new Error("the loop is closed"));
    const agent = standalone(this.#agent, this.#onError);
    this.#engine ??= import("./loop-engine.ts").then(({ LoopEngine: engine }) =>
      engine.start(agent, this.#storage),
    );
    return this.#engine;
  }

  /** Reads a turn that `begin` finds or starts; nothing follows if it gives no position. */
  #observe(
    begin: (
      engine: LoopEngine,
      subscriber: Subscriber<AgentEvent>,
    ) => Promise<TurnPosition | undefined>,
  ): Observable<AgentEvent> {
    const { Observable: ObservableClass } = loadRxjs();
    const relay = async (subscriber: Subscriber<AgentEvent>, left: AbortSignal): Promise<void> => {
      try {
        const engine = await this.#open();
        const position = await begin(engine, subscriber);
        if (position !== undefined) {
          await engine.follow(position, left, (event) => subscriber.next(event));
        }
        subscriber.complete();
      } catch (error) {
        if (!left.aborted) subscriber.error(error);
      }
    };
    return new ObservableClass((subscriber) => {
      const leaving = new AbortController();
      void relay(subscriber, leaving.signal);
      return () => leaving.abort(new Error("the subscriber left"));
    });
  }
}

/**
 * The agent as it runs without a server. Unexpected errors are reported here, because there is no
 * server's log to look them up in.
 */
function standalone(agent: ModelAgent, onError: (error: unknown, errorId: string) => void): Agent {
  return {
    ...(agent.id !== undefined && { id: agent.id }),
    get info() {
      return agent.info;
    },
    accept: (task, message, at) => agent.accept?.(task, message, at) ?? message,
    abandon: (task, journal) => agent.abandon(task, journal),
    report: (task) => agent.report(task),
    prepare: (place) => agent.prepareStandalone(place),
    [Symbol.asyncDispose]: async () => agent[Symbol.asyncDispose]?.(),
    async *run(turn) {
      try {
        yield* agent.runStandalone(turn);
      } catch (error) {
        if (turn.signal.aborted) throw error;
        const errorId = randomUUID();
        onError(error, errorId);
        yield failedStatus(turn, error, errorId);
      }
    },
  };
}

function failedStatus({ task, id }: Turn, error: unknown, errorId: string): StatusUpdateEvent {
  const text = A2AError.is(error) ? error.detail : `The agent failed; this is error ${errorId}.`;
  const metadata = { error: text, reason: "agent-error", errorId };
  const message = agentMessage(id(), text);
  return { ...statusEvent(task), status: { state: "failed", message }, metadata };
}

function lastStatus(task: Task): StatusUpdateEvent {
  return { ...statusEvent(task), status: task.status };
}

function statusEvent({ id: taskId, contextId }: Task) {
  return { kind: "status-update", taskId, contextId, final: true } as const;
}

function warn(error: unknown, errorId: string): void {
  const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.emitWarning(`an agent failed (error ${errorId}): ${cause}`, "AgentLoopWarning");
}
