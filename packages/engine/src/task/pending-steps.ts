import type {
  AcceptedMessage,
  CommitResult,
  CommitStep,
  NewPush,
  NewTask,
} from "../log/backend.ts";
import type { LogEntry } from "../log/log-entry.ts";
import type { CurrentStatus } from "./status.ts";

/** How far an agent may run ahead of its last commit. */
const MAX_UNCOMMITTED_EVENTS = 1024;
const MAX_UNCOMMITTED_BYTES = 1024 * 1024;

/** What an append can change in addition to its events. */
export interface AppendOptions {
  /** Identifies the run that writes. */
  readonly epoch: number;
  readonly create?: NewTask;
  readonly message?: AcceptedMessage;
  /** Whether lists include the task from now on. */
  readonly listed?: boolean;
  /**
   * Retry until the storage works again, because the output of a run must not be
   * lost. Without it the append rejects, and the request fails.
   */
  readonly insist?: boolean;
  /** The new wake time of the task; `null` clears it. */
  readonly wakeAt?: number | null;
  /** A push config sent with the message. */
  readonly push?: NewPush;
  /** Whether this process works on the task from now on, or another one is to claim it. */
  readonly running?: CommitStep["running"] | undefined;
  /** The mailbox entries that the events handle. */
  readonly mailbox?: readonly string[];
}

/** Events that are waiting for one commit. Further events of the same run are added to it. */
export interface PendingStep {
  readonly entries: LogEntry[];
  /** The places of entries whose large files are not stored yet. */
  readonly unstored: number[];
  readonly options: AppendOptions;
  readonly answer: PromiseWithResolvers<CommitResult>;
  status: CurrentStatus;
  bytes: number;
  wakeAt: number | null | undefined;
  running: CommitStep["running"];
}

/** The steps of one task that are not stored yet, in order: the one that is being stored, and those after it. */
export class PendingSteps {
  readonly #queue: PendingStep[] = [];
  #current: PendingStep | undefined;
  #events = 0;
  #bytes = 0;
  /** Created when an agent first has to wait. */
  #waitingForRoom: (() => void)[] | undefined;

  /** How many steps wait, in addition to the one that is being stored. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** How many events are not stored yet. */
  get events(): number {
    return this.#events;
  }

  /** Settles when the last step is committed or refused; `undefined` if there is none. */
  get settled(): Promise<unknown> | undefined {
    return settledStep(this.#queue.at(-1) ?? this.#current);
  }

  /** Settles when the step that is being stored is committed or refused; `undefined` if there is none. */
  get committing(): Promise<unknown> | undefined {
    return settledStep(this.#current);
  }

  /** The status after the steps that wait; `undefined` if there are none. */
  get status(): CurrentStatus | undefined {
    return this.#queue.at(-1)?.status;
  }

  /** The wake time that the steps that wait set: `null` for none, `undefined` if they do not change it. */
  get wakeAt(): number | null | undefined {
    return this.#queue.findLast(({ wakeAt }) => wakeAt !== undefined)?.wakeAt;
  }

  /** The step for events with these options, which changes the status to this one. */
  stepFor(options: AppendOptions, status: CurrentStatus): PendingStep {
    const last = this.#queue.at(-1);
    const step =
      last !== undefined && joins(last.options, options) ? last : this.#enqueue(options, status);
    step.status = status;
    if (options.wakeAt !== undefined) step.wakeAt = options.wakeAt;
    if (options.running !== undefined) step.running = options.running;
    return step;
  }

  #enqueue(options: AppendOptions, status: CurrentStatus): PendingStep {
    const step: PendingStep = {
      entries: [],
      unstored: [],
      options,
      answer: Promise.withResolvers<CommitResult>(),
      status,
      bytes: 0,
      wakeAt: undefined,
      running: undefined,
    };
    this.#queue.push(step);
    return step;
  }

  /** Adds an event to a step. */
  add(step: PendingStep, entry: LogEntry): void {
    this.#count(step, entry, entry.json.length);
  }

  /** Adds an event whose large files have to be stored first: until then, it may be as large as the limits allow. */
  addUnstored(step: PendingStep, entry: LogEntry): void {
    step.unstored.push(step.entries.length);
    this.#count(step, entry, MAX_UNCOMMITTED_BYTES);
  }

  #count(step: PendingStep, entry: LogEntry, length: number): void {
    step.entries.push(entry);
    step.bytes += length;
    this.#bytes += length;
    this.#events += 1;
  }

  /** Begins with the next step, if there is one. */
  next(): PendingStep | undefined {
    this.#current = this.#queue.shift();
    return this.#current;
  }

  /** The step is committed or refused. */
  done({ entries, bytes }: PendingStep): void {
    this.#events -= entries.length;
    this.#bytes -= bytes;
    const waiting = this.#waitingForRoom;
    this.#waitingForRoom = undefined;
    if (waiting !== undefined) for (const resolve of waiting) resolve();
  }

  /** Whether there is too much for an agent to continue. */
  get isFull(): boolean {
    return this.#events >= MAX_UNCOMMITTED_EVENTS || this.#bytes >= MAX_UNCOMMITTED_BYTES;
  }

  /** Resolves when a step is done. */
  room(): Promise<void> {
    return new Promise((resolve) => (this.#waitingForRoom ??= []).push(resolve));
  }
}

function settledStep(step: PendingStep | undefined): Promise<unknown> | undefined {
  return step?.answer.promise.catch(() => undefined);
}

/**
 * Output of the same run shares a step, also with the creation of its task if that is not stored yet.
 * A step that accepts a message or handles mailbox entries is one of its own.
 */
function joins(earlier: AppendOptions, later: AppendOptions): boolean {
  return (
    (earlier.insist === true || earlier.create !== undefined) &&
    later.insist === true &&
    earlier.epoch === later.epoch &&
    earlier.listed === later.listed &&
    later.mailbox === undefined
  );
}
