import { type Connection, RemoteError, type Task, isTerminal } from "@convoke/protocol";
import { promisesStreams } from "../cards/card.ts";
import { isConnectionLoss, isTemporary, wasNotProcessed } from "../connection/loss.ts";
import {
  EarlyCloseError,
  errorMessage,
  gaveUpError,
  hasNoInterface,
  isMissing,
  isTaskNotFound,
  isUnreadable,
  isUnsupported,
  isUnsupportedOperation,
  notMovedError,
  notResentError,
  taskLostError,
  unreadableAgainError,
} from "./failures.ts";
import type { FollowSettings } from "./follow-options.ts";
import { backoffMs, sleep } from "@convoke/protocol/internal";
import { isSameTask } from "./snapshot-events.ts";
import {
  type RecoveryStep,
  type RunRequest,
  type RunStep,
  type TaskSnapshot,
  hasMessage,
  hasMovedOn,
  isAtRest,
} from "./task-events.ts";

export interface RecoveryOptions {
  readonly connection: Connection;
  readonly wanted: RunRequest;
  readonly settings: FollowSettings;
  readonly fold: TaskSnapshot;
}

/** Decides what to do after an error: try again, get the task another way, or give up. */
export class Recovery {
  readonly #connection: Connection;
  readonly #wanted: RunRequest;
  readonly #settings: FollowSettings;
  readonly #fold: TaskSnapshot;
  readonly #backoff: ReconnectBackoff;
  #wasUnreadable = false;
  #isLost = false;

  constructor({ connection, wanted, settings, fold }: RecoveryOptions) {
    this.#connection = connection;
    this.#wanted = wanted;
    this.#settings = settings;
    this.#fold = fold;
    this.#backoff = new ReconnectBackoff(settings.reconnectForMs);
  }

  /** Whether nothing has arrived since the connection was lost. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Something new arrived. */
  progressed(): void {
    this.#backoff.progressed();
    this.#wasUnreadable = false;
    this.#isLost = false;
  }

  /** What to do after an error; throws it, or a clearer one, if nothing can be done. */
  after(step: RunStep, error: unknown, signal: AbortSignal | undefined): Promise<RecoveryStep> {
    return this.#fold.taskId === undefined
      ? this.#afterMessage(step, error, signal)
      : this.#afterTask(step, error, signal);
  }

  /** Fetches the task, retrying while the agent cannot be reached. */
  async task(signal: AbortSignal | undefined, taskId = this.#fold.taskId ?? ""): Promise<Task> {
    for (;;) {
      try {
        return await this.#connection.call("getTask", { taskId }, { signal });
      } catch (error) {
        signal?.throwIfAborted();
        this.#throwIfGone(error);
        if (!isConnectionLoss(error)) throw error;
        await this.#wait(error, signal);
      }
    }
  }

  /** Whether the task progressed while its stream was idle. */
  async hasProgressed(signal: AbortSignal): Promise<boolean> {
    const { task, taskId, isPartial } = this.#fold;
    if (taskId === undefined) return false;
    try {
      const now = await this.#connection.call("getTask", { taskId }, { signal });
      if (task === undefined || isPartial) return isTerminal(now.status.state);
      return !isSameTask(task, now);
    } catch (error) {
      return isConnectionLoss(error);
    }
  }

  noticePolling(why = "does not stream; its task"): void {
    const { url } = this.#connection.selectedInterface;
    const message = `${url} ${why} is polled`;
    this.#settings.onNotice({ kind: "polling", message });
  }

  /** Before the task is known, only the message itself can be sent again. */
  async #afterMessage(
    step: RunStep,
    error: unknown,
    signal: AbortSignal | undefined,
  ): Promise<RecoveryStep> {
    if (step === "send" && this.#hasNoStreams(error)) return { next: "call" };
    const { reconnectForMs, resendAlways } = this.#settings;
    if (reconnectForMs === undefined) throw error;
    const isLost = isConnectionLoss(error);
    if (!isLost && !isUnsupportedOperation(error)) throw error;
    if (isLost && (wasNotProcessed(error) || resendAlways || this.#connection.deduplicates)) {
      await this.#wait(error, signal);
      return { next: step };
    }
    if (isLost) await this.#wait(error, signal);
    const task = await this.#taskWithMessage(signal);
    if (task === undefined) throw isLost ? notResentError(error) : error;
    const moved = await this.#whenMoved(task, error, signal);
    if (isAtRest(moved)) return { next: "over", task: moved };
    return { next: step === "call" ? "poll" : "subscribe", task: moved };
  }

  /**
   * Whether the agent refuses to stream, so that the message can be sent in a call. If its card promises
   * streams, -32004 is about something else, and may come after the agent has worked.
   */
  #hasNoStreams(error: unknown): boolean {
    if (isMissing(error)) return true;
    return isUnsupportedOperation(error) && !promisesStreams(this.#connection.card);
  }

  async #afterTask(
    step: RunStep,
    error: unknown,
    signal: AbortSignal | undefined,
  ): Promise<RecoveryStep> {
    const isKnown = this.#fold.answer !== undefined;
    this.#throwIfGone(error);
    if (isUnreadable(error)) this.#noticeUnreadable(error);
    else if (!isConnectionLoss(error) && !hasNoInterface(error))
      return this.#withoutStream(step, error, signal);
    // A subscription that was closed without an event may have none: the task may be done.
    if (step === "subscribe" && error instanceof EarlyCloseError && (this.#isLost || !isKnown)) {
      const task = await this.task(signal);
      // A reader that came with a cursor and received nothing is up to date.
      if (isAtRest(task) && this.hasMoved(task)) return { next: "over", ...(isKnown && { task }) };
    }
    await this.#wait(error, signal);
    return { next: step === "poll" ? "poll" : "subscribe" };
  }

  /** The agent rejects the subscription: the task has ended, or the agent does not stream. */
  async #withoutStream(
    step: RunStep,
    error: unknown,
    signal: AbortSignal | undefined,
  ): Promise<RecoveryStep> {
    const isRefusal = error instanceof RemoteError || isUnsupported(error);
    if (step !== "subscribe" || !isRefusal) throw error;
    const task = await this.task(signal).catch(() => undefined);
    signal?.throwIfAborted();
    if (task === undefined) throw error;
    if (isTerminal(task.status.state)) return { next: "over", task };
    if (!isUnsupported(error)) throw error;
    this.noticePolling();
    return { next: "poll", task: await this.#whenMoved(task, error, signal) };
  }

  /** Whether the task shows what the agent made of the message, and not the question that it answers. */
  hasMoved(task: Task): boolean {
    if (this.#wanted.kind === "subscribe") return true;
    const { taskId, messageId } = this.#wanted.request.message;
    return taskId === undefined || hasMovedOn(task, messageId, this.#fold.task);
  }

  /** The task once it shows what the agent made of the message. */
  async #whenMoved(task: Task, error: unknown, signal: AbortSignal | undefined): Promise<Task> {
    let now = task;
    if (!this.hasMoved(now)) this.noticePolling(`has not answered yet; task ${task.id}`);
    while (!this.hasMoved(now)) {
      const delayMs = this.#backoff.next();
      if (delayMs === undefined) throw notMovedError(error, task.id, this.#backoff.waitedMs);
      await sleep(delayMs, signal);
      now = await this.task(signal, task.id);
    }
    return now;
  }

  /** The task that the message was sent to, if its history contains the message. */
  async #taskWithMessage(signal: AbortSignal | undefined): Promise<Task | undefined> {
    if (this.#wanted.kind === "subscribe") return undefined;
    const { taskId, messageId } = this.#wanted.request.message;
    if (taskId === undefined) return undefined;
    try {
      const task = await this.task(signal, taskId);
      return hasMessage(task, messageId) ? task : undefined;
    } catch {
      signal?.throwIfAborted();
      return undefined;
    }
  }

  async #wait(error: unknown, signal: AbortSignal | undefined): Promise<void> {
    const delayMs = this.#backoff.next(isTemporary(error) ? error.retryAfterMs : undefined);
    if (delayMs === undefined) {
      const keepsOwnError =
        this.#settings.reconnectForMs === undefined || error instanceof RemoteError;
      throw keepsOwnError ? error : gaveUpError(error, this.#backoff.waitedMs);
    }
    this.#isLost = true;
    const { attempts: attempt } = this.#backoff;
    const message = `${errorMessage(error)}; retrying (${attempt})`;
    this.#settings.onNotice({ kind: "reconnecting", message, attempt, delayMs, error });
    await sleep(delayMs, signal);
  }

  /** A task that existed before was lost by the agent; the error says so. */
  #throwIfGone(error: unknown): void {
    if (!isTaskNotFound(error)) return;
    const { taskId = "", answer } = this.#fold;
    throw answer === undefined
      ? error
      : taskLostError(error, this.#connection.selectedInterface.url, taskId);
  }

  #noticeUnreadable(error: Error): void {
    if (this.#settings.reconnectForMs === undefined) throw error;
    if (this.#wasUnreadable) throw unreadableAgainError(error);
    this.#wasUnreadable = true;
    this.#settings.onNotice({ kind: "unreadable", message: errorMessage(error), error });
  }
}

const BACKOFF = { firstMs: 200, longestMs: 10_000 };

/** The first retry comes almost at once: most losses are a connection that a proxy closed. */
const FIRST_MS = 100;

/** An agent that never responded is given up sooner than one that is at work. */
const OPENING_MS = 30_000;

const clock = (): number => performance.now();

/**
 * How long to wait before the next attempt, and when to give up. The wait is short at first and
 * grows; any progress resets it. It is partly random, so that a thousand clients do not return at once.
 */
export class ReconnectBackoff {
  readonly #forMs: number | undefined;
  readonly #now: () => number;
  #attempts = 0;
  #since: number | undefined;
  #hasBegun = false;

  /** `forMs` is how long to retry without progress; `undefined` means a single attempt. */
  constructor(forMs: number | undefined, now: () => number = clock) {
    this.#forMs = forMs;
    this.#now = now;
  }

  /** Attempts since the last progress. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Time since the last progress. */
  get waitedMs(): number {
    return this.#since === undefined ? 0 : this.#now() - this.#since;
  }

  progressed(): void {
    this.#attempts = 0;
    this.#since = undefined;
    this.#hasBegun = true;
  }

  /** How long to wait now; `undefined` when it is time to give up. */
  next(atLeastMs = 0): number | undefined {
    this.#since ??= this.#now();
    if (this.#forMs === undefined) return undefined;
    const forMs = this.#hasBegun ? this.#forMs : Math.min(this.#forMs, OPENING_MS);
    if (this.waitedMs >= forMs) return undefined;
    this.#attempts++;
    const delayMs =
      this.#attempts === 1 ? Math.random() * FIRST_MS : backoffMs(this.#attempts - 1, BACKOFF);
    return Math.min(Math.max(delayMs, atLeastMs), forMs);
  }
}
