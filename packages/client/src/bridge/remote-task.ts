import {
  ERRORS,
  type ListTasksRequest,
  type Message,
  type RawCard,
  RemoteError,
  ServerStopping,
  type Task,
  type TaskPage,
} from "@convoke/protocol";
import { type PageRequest, readPages, startTimer } from "@convoke/protocol/internal";
import { promisesStreams } from "../cards/card.ts";
import { isUnsupported, isUnsupportedOperation } from "../run/failures.ts";
import type { FollowOptions } from "../run/follow-options.ts";
import type { Run } from "../run/run.ts";
import { hasMessage } from "../run/task-events.ts";

interface Abortable {
  readonly signal?: AbortSignal | undefined;
}

/** The operations of a remote agent on its tasks; `RemoteAgent` has them. */
export interface RemoteTasks {
  readonly card: RawCard;
  readonly deduplicates: boolean;
  stream(message: Message, options: FollowOptions): Run;
  subscribe(
    taskId: string,
    options: FollowOptions & { readonly lastEventId?: string | undefined },
  ): Run;
  get(taskId: string, options: Abortable): Promise<Task>;
  list(options: Partial<ListTasksRequest> & Abortable): Promise<TaskPage>;
  cancel(taskId: string, options: Abortable): Promise<Task>;
}

export interface RemoteTaskIds {
  readonly taskId: string;
  readonly contextId: string;
}

export interface RemoteTaskOptions {
  /** The ids that an earlier attempt has stored. */
  readonly ids?: RemoteTaskIds | undefined;
  /** The runs of the task end with its reason when it aborts. */
  readonly signal: AbortSignal;
  /** For all runs of the task. */
  readonly follow: Omit<FollowOptions, "signal">;
  /**
   * How long a run continues after the signal aborted, if the agent has not named its task yet: a
   * task can only be canceled by its id. The reader leaves the run when it is named. Default 0.
   */
  readonly learnMs?: number;
}

/** Handles one run of the task; its result is the result of the method that made the run. */
type Follow<T, End> = (run: Run) => AsyncGenerator<T, End, undefined>;

/**
 * The task of a remote agent that works for a local task. It is created, answered and read in the
 * same way whether the local task forwards its events (`BridgeRun`) or is an agent that called
 * another one. Messages have the same ids in every attempt, so after a crash the next attempt finds
 * the task that the one before created, and sends nothing twice.
 */
export class RemoteTask {
  readonly #agent: RemoteTasks;
  readonly #options: RemoteTaskOptions;
  /** Ends the runs of the task. */
  readonly #signal: AbortSignal;
  #ids: RemoteTaskIds | undefined;
  /** The run that was made last. */
  #run: Run | undefined;

  constructor(agent: RemoteTasks, options: RemoteTaskOptions) {
    const { ids, signal, learnMs = 0 } = options;
    this.#agent = agent;
    this.#options = options;
    this.#ids = ids;
    this.#signal = learnMs === 0 ? signal : this.#lateSignal(signal, learnMs);
  }

  /** Unknown until the first event of the task was read. */
  get ids(): RemoteTaskIds | undefined {
    const task = this.#run?.task;
    this.#ids ??= task && { taskId: task.id, contextId: task.contextId };
    return this.#ids;
  }

  /** Whether a message can be sent again without harm. */
  get deduplicates(): boolean {
    return this.#agent.deduplicates;
  }

  /**
   * Whether the agent rejected the message itself, so that another one may be sent in its place. If its
   * card promises streams, -32004 may also end a stream after the agent has worked.
   */
  isRefusal(error: unknown): error is RemoteError {
    if (isUnsupportedOperation(error)) {
      return this.deduplicates || !promisesStreams(this.#agent.card);
    }
    return error instanceof RemoteError && error.code === ERRORS.InvalidParams.code;
  }

  /** Sends the message that creates the task. `isRepeat` if an earlier attempt may have sent it. */
  async *open<T, End>(
    message: Message & Pick<RemoteTaskIds, "contextId">,
    isRepeat: boolean,
    follow: Follow<T, End>,
  ): AsyncGenerator<T, End, undefined> {
    try {
      return yield* follow(this.#send(message));
    } catch (error) {
      if (this.ids !== undefined || !this.isRefusal(error)) throw error;
      // The agent may have a task for this message but not recognize the repeated one as the same.
      const begun = isRepeat ? await this.#findBegun(message) : undefined;
      if (begun !== undefined) return yield* follow(this.#subscribe(begun.id));
      // The agent may insist on choosing context ids itself (1.0 §3.4.1).
      const { contextId: _, ...withoutContext } = message;
      return yield* follow(this.#send(withoutContext));
    }
  }

  /** Follows the known task again, from its current state or after an event. */
  attach(lastEventId?: string): Run {
    return this.#subscribe(this.ids!.taskId, lastEventId);
  }

  /** Sends a message to the known task. `isRepeat` if an earlier attempt may have sent it. */
  async answer(message: Message, isRepeat: boolean): Promise<Run> {
    const addressed = { ...message, ...this.ids! };
    const hasArrived =
      isRepeat && !this.deduplicates && hasMessage(await this.get(), message.messageId);
    return hasArrived ? this.attach() : this.#send(addressed);
  }

  /** The known task as it is now. */
  get(): Promise<Task> {
    return this.#agent.get(this.ids!.taskId, { signal: this.#options.signal });
  }

  /** Asks the agent to cancel the task. Does nothing if the agent has not named it. */
  async cancel(signal: AbortSignal): Promise<void> {
    const { ids } = this;
    if (ids !== undefined) await this.#agent.cancel(ids.taskId, { signal });
  }

  /** Aborts with a signal or, if the agent has not named its task by then, up to `learnMs` later. */
  #lateSignal(signal: AbortSignal, learnMs: number): AbortSignal {
    const late = new AbortController();
    const leave = (): void => late.abort(signal.reason);
    const onAbort = (): void => {
      // A server that stops cancels nothing, so it need not learn the id.
      if (this.ids !== undefined || ServerStopping.is(signal.reason)) leave();
      else startTimer(learnMs, leave, { unref: true });
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    return late.signal;
  }

  #send(message: Message): Run {
    this.#run = this.#agent.stream(message, { ...this.#options.follow, signal: this.#signal });
    return this.#run;
  }

  #subscribe(taskId: string, lastEventId?: string): Run {
    const { follow } = this.#options;
    this.#run = this.#agent.subscribe(taskId, { ...follow, signal: this.#signal, lastEventId });
    return this.#run;
  }

  async #findBegun(message: Message & Pick<RemoteTaskIds, "contextId">): Promise<Task | undefined> {
    try {
      return await findTask(this.#agent, message, this.#options.signal);
    } catch (error) {
      // Without a list the message is sent again, which does no harm if the agent deduplicates.
      if (isUnsupported(error) && this.deduplicates) return undefined;
      throw error;
    }
  }
}

/** How many of the newest messages of a task are searched. */
const MAX_HISTORY = 100;

const MAX_PAGES = 20;

const PAGE_SIZE = 50;

/** Finds the task that a message started, after a crash that came before the agent named it. */
export async function findTask(
  agent: Pick<RemoteTasks, "list">,
  { messageId, contextId }: Pick<Message, "messageId"> & Pick<RemoteTaskIds, "contextId">,
  signal: AbortSignal,
): Promise<Task | undefined> {
  const request = { contextId, pageSize: PAGE_SIZE, historyLength: MAX_HISTORY, signal };
  const read = (page: PageRequest) => agent.list({ ...request, ...page });
  for await (const { tasks } of readPages(read, { maxPages: MAX_PAGES })) {
    const found = tasks.find((task) => hasMessage(task, messageId));
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * The context id at the remote agent for a local context of a caller; the same after a restart. It is
 * derived from the owner too, because to the remote agent all local callers are one: a caller who
 * names the context of another must not reach it there.
 */
export async function remoteContextId(owner: string, contextId: string): Promise<string> {
  const name = new TextEncoder().encode(JSON.stringify(["convoke bridge", owner, contextId]));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", name));
  const hex = Array.from(digest.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0"));
  // UUID version 8 (RFC 9562): custom content.
  hex[6] = `8${hex[6]![1]}`;
  hex[8] = `a${hex[8]![1]}`;
  const text = hex.join("");
  return [8, 12, 16, 20, 32]
    .map((end, index, ends) => text.slice(index === 0 ? 0 : ends[index - 1], end))
    .join("-");
}
