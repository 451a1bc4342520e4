import type { AgentEvent, PublicEvent } from "./events.ts";
import type { Message } from "./message.ts";
import type { Task } from "./task.ts";

/**
 * A format of an agent's own, in which callers that activate its extension see the agent's tasks.
 * Everything is derived from the log when it is read; nothing of it is stored.
 */
export interface Dialect {
  /** The URI of the extension that activates it. */
  readonly uri: string;
  /**
   * Whether a message activates the dialect by its content, without the header. If it is the first
   * message of a task, the later messages and subscriptions of that task use the dialect, too.
   */
  isUsedBy?(message: Message): boolean;
  /** Creates the view of one stream. */
  stream(): DialectStream;
  /** Creates the view of one task. */
  snapshot(): DialectSnapshot;
}

/** What a stream shows of a log. */
export interface DialectStream {
  /**
   * Returns what the caller receives for an event. It is called for each event of the log from the
   * first one, in order; the results for events that the caller has seen already are dropped. So the
   * results must depend on the log only, and a resumed stream continues exactly.
   */
  next(event: AgentEvent, seq: number): readonly PublicEvent[];
}

/** What a task shows of its log. */
export interface DialectSnapshot {
  /** Called for each event of the log from the first one, in order. */
  add(event: AgentEvent, seq: number): void;
  /** Returns the task as the caller receives it. */
  task(task: Task): Task;
}
