import {
  type Agent,
  type AgentEvent,
  type Message,
  type Metadata,
  type StatusUpdateEvent,
  type TaskState,
  type Turn,
  agentMessage,
  isInterrupted,
  isTerminal,
} from "@convoke/protocol";
import type { Inbox } from "./inbox.ts";
import { statusEvent } from "./status-event.ts";
import type { TaskWriter } from "./task-writer.ts";

/** What a run needs besides its turn. */
export interface RunOptions {
  readonly agent: Agent;
  readonly writer: TaskWriter;
  readonly turn: Turn;
  readonly inbox: Inbox;
  readonly epoch: number;
  readonly contextId: string;
  readonly abort: AbortController;
  /** Whether the task is shown already; an agent that replies decides with its first event. */
  readonly announced: boolean;
  /** Turns what the agent threw into words that are safe to store, and logs the rest. */
  readonly explain: (error: unknown) => Failure;
}

/** Why a task failed, as its status says it. */
export interface Failure {
  readonly text: string;
  readonly metadata: Metadata;
}

/**
 * One run of an agent: its events, completed and checked, become appends; when
 * it ends, so does the turn. The writer's bound is its backpressure.
 */
export class Run {
  readonly epoch: number;
  readonly inbox: Inbox;
  /** Resolves when the agent's iterator has ended and its last event is committed or refused. */
  readonly ended: Promise<void>;
  #options: RunOptions;
  #announced: boolean;
  #refused = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: RunOptions) {
    this.#options = options;
    this.epoch = options.epoch;
    this.inbox = options.inbox;
    this.#announced = options.announced;
    this.ended = this.#drive();
  }

  /** Tells the agent to stop. */
  abort(reason: Error): void {
    this.#options.abort.abort(reason);
    this.inbox.close();
  }

  async #drive(): Promise<void> {
    try {
      await this.#pull();
      this.#finish();
    } catch (error) {
      this.#fail(error);
    }
    this.inbox.close();
    await this.#last;
  }

  async #pull(): Promise<void> {
    const { agent, turn, writer } = this.#options;
    for await (const yielded of agent.run(turn)) {
      if (Array.isArray(yielded)) for (const event of yielded) this.#accept(event as AgentEvent);
      else this.#accept(yielded as AgentEvent);
      if (this.#isOver()) return;
      const room = writer.room();
      if (room !== undefined) await room;
    }
  }

  #accept(event: AgentEvent): void {
    if (this.#isOver()) return;
    switch (event.kind) {
      case "task":
        // The creation is in the log already; a loop that begins with its task says nothing new.
        return;
      case "message":
        return this.#reply(event as Message);
      case "status-update":
        return this.#status(event as StatusUpdateEvent);
      default:
        if (!this.#announced) this.#write(this.#opening());
        this.#write([this.#complete(event)]);
    }
  }

  /** The whole answer is one message, if nothing else was said before it. */
  #reply(message: Message): void {
    const { agent, contextId } = this.#options;
    const alone = agent.info.replies && !this.#announced;
    this.#write([alone ? { ...message, contextId } : this.#statusOf("completed", message)]);
  }

  #status({ status, metadata }: StatusUpdateEvent): void {
    if (this.#options.turn.signal.aborted && isTerminal(status.state)) return;
    const update = this.#statusOf(status.state, status.message, metadata);
    if (status.state !== "working") return this.#write([...this.#opening(), update]);
    const repeats = status.message === undefined && this.#options.writer.nextState === "working";
    this.#announced = true;
    if (!repeats) this.#write([update]);
  }

  /** The `working` that stands before the first output of a task that was held back. */
  #opening(): readonly AgentEvent[] {
    if (this.#announced) return [];
    this.#announced = true;
    return [this.#statusOf("working")];
  }

  /** An agent that stopped without a last word has completed, or was canceled. */
  #finish(): void {
    const { writer, turn } = this.#options;
    if (turn.signal.aborted) return this.#end("canceled");
    if (!isInterrupted(writer.nextState)) this.#end("completed");
  }

  #fail(error: unknown): void {
    if (this.#options.turn.signal.aborted) return this.#end("canceled");
    const { text, metadata } = this.#options.explain(error);
    this.#end("failed", agentMessage(this.#options.turn.id(), text), metadata);
  }

  #end(state: TaskState, message?: Message, metadata?: Metadata): void {
    if (this.#isOver()) return;
    this.#write([...this.#opening(), this.#statusOf(state, message, metadata)]);
  }

  #isOver(): boolean {
    return this.#refused || isTerminal(this.#options.writer.nextState);
  }

  #statusOf(state: TaskState, message?: Message, metadata?: Metadata): StatusUpdateEvent {
    const { writer, turn, contextId, agent } = this.#options;
    const event = statusEvent({
      taskId: writer.taskId,
      contextId,
      state,
      timestamp: writer.statusTime(turn.now().getTime()),
      ...(message && { message: { ...message, taskId: writer.taskId, contextId } }),
      ...(metadata && { metadata }),
      keepOpen: agent.info.keepStreamOnInterrupt,
    });
    return this.#complete(event) as StatusUpdateEvent;
  }

  /** Every event names its task and, when the caller sent one, its trace. */
  #complete(event: AgentEvent): AgentEvent {
    const { writer, turn, contextId } = this.#options;
    const { taskId } = writer;
    const given = event as Partial<StatusUpdateEvent>;
    if (turn.trace !== undefined) {
      const metadata = { ...given.metadata, ...turn.trace };
      return { ...event, taskId, contextId, metadata } as AgentEvent;
    }
    const isNamed = given.taskId === taskId && given.contextId === contextId;
    return isNamed ? event : ({ ...event, taskId, contextId } as AgentEvent);
  }

  #write(events: readonly AgentEvent[]): void {
    const { writer, epoch } = this.#options;
    const options = { epoch, insist: true, listed: this.#announced };
    const committed = writer.append(events, options);
    // Events of one commit share its answer.
    if (committed === this.#last) return;
    this.#last = committed;
    void committed.then(({ kind }) => {
      // A newer run owns the task, or it has ended: nothing of this run counts any more.
      if (kind !== "committed") this.#refused = true;
    });
  }
}
