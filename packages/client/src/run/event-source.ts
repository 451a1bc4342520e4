import type { PublicEvent } from "@convoke/protocol";
import type { TaskFold } from "./task-fold.ts";

/** An event, with the id that resumes after it; "" where the agent sends none. */
export interface Followed {
  readonly event: PublicEvent;
  readonly id: string;
}

/** Where the events of a run come from, however often the connection changes. */
export interface EventSource {
  /** What came so far; an event is in it when it is yielded. */
  readonly fold: TaskFold;
  /** The id that resumes after the last event. */
  readonly lastEventId: string | undefined;
  /** Nothing is requested before the reading begins. It is read once. */
  read(signal: AbortSignal): AsyncGenerator<Followed, void, undefined>;
  /**
   * Between two steps of the reading: the next event where it has arrived already
   * and nothing is to be done about it, which is nearly always so in a long answer.
   * Without one the reading goes on, whatever comes.
   */
  take?(): Followed | undefined;
}
