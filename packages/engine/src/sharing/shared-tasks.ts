import { A2AError, type Caller, type Message, type TraceContext } from "@convoke/protocol";
import type { BackoffOptions } from "@convoke/protocol/internal";
import { setTimeout as sleep } from "node:timers/promises";
import { AttemptQueue } from "../lifecycle/attempt-queue.ts";
import { cancelLive } from "../lifecycle/end-task.ts";
import { takeOverClaimed } from "../lifecycle/recover.ts";
import type { NewPush } from "../log/backend.ts";
import type {
  ClaimedTask,
  MailboxEntry,
  NewMailboxEntry,
  Sharing,
  WaitingForHost,
} from "../log/sharing.ts";
import { receive } from "../messages/accept-message.ts";
import type { AddressedMessage } from "../messages/incoming.ts";
import type { Engine, Forwarded, SharingRules } from "../run/engine.ts";
import type { LiveTask } from "../run/live-task.ts";

/** How often to look for tasks that nobody works on, plus or minus a fifth. */
const CLAIM_MS = 500;

/** How long the process that let a task wait has to wake it before others do. */
const GRACE_MS = 1000;

/** How often to look for a while after another process has stopped, which does not wake its tasks any more. */
const RELEASED_CLAIM_MS = 100;

/** How often to look for tasks that this process is recorded to work on, and does not. */
const STRAYS_MS = 1000;

/** How often to look for tasks that wait for a host without a process. */
const HOSTS_MS = 2000;

/** The most tasks that are claimed at a time: the rest is for other processes. */
const MAX_CLAIMS = 64;

/**
 * Works together with other processes that share the storage: claims tasks that nobody works on,
 * passes messages and cancels on to the process that works on a task, and takes those for its own.
 */
export class SharedTasks implements SharingRules {
  readonly #engine: Engine;
  readonly #sharing: Sharing;
  readonly #queue: AttemptQueue;
  readonly #stops: (() => void)[] = [];
  /** Tasks whose mailbox is being emptied, and whether there may be more in it. */
  readonly #emptying = new Map<string, boolean>();
  /** Tasks that this process was recorded to work on at the last look, and did not. */
  #strays: ReadonlySet<string> = new Set();
  /** When to look for them again, by `performance.now()`. */
  #straysAt = 0;
  /** Set while this process does not look for tasks. */
  #timer: NodeJS.Timeout | undefined;
  /** Whether others have given up tasks since this process began to look. */
  #hasReleased = false;
  /** When others last did, by `performance.now()`. */
  #releasedAt = Number.NEGATIVE_INFINITY;
  #isStopped = false;
  #waitingForHosts: readonly WaitingForHost[] = [];
  /** When to look for them again, by `performance.now()`. */
  #hostsAt = 0;
  /** Tasks that are being claimed or taken over. */
  readonly #pending = new Set<Promise<void>>();

  constructor(engine: Engine, sharing: Sharing, crashBackoff: BackoffOptions) {
    this.#engine = engine;
    this.#sharing = sharing;
    this.#queue = new AttemptQueue(engine, crashBackoff);
  }

  start(): void {
    this.#stops.push(
      this.#sharing.onMailbox((taskIds) => taskIds.forEach((taskId) => this.#empty(taskId))),
      this.#sharing.onLost((taskIds) => taskIds.forEach((taskId) => this.#lost(taskId))),
      this.#sharing.onReleased(() => this.#claimNow()),
    );
    this.#track(this.#claimAll());
  }

  #track(work: Promise<void>): void {
    this.#pending.add(work);
    void work.finally(() => this.#pending.delete(work));
  }

  /** Claims nothing any more. Resolves when what was claimed before has been taken over. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    for (const stop of this.#stops) stop();
    await Promise.allSettled(this.#pending);
  }

  /** Lets other processes claim everything that this one is recorded to work on, whether or not it does. */
  async releaseAll(running: readonly string[]): Promise<void> {
    // Those that were claimed and not started yet. If they cannot be read, the end of the lease frees them.
    const own = await this.#sharing.ownTasks().catch(() => []);
    await this.release([...new Set([...running, ...own])]);
  }

  async release(taskIds: readonly string[]): Promise<void> {
    // From now on only the store knows what becomes of them.
    for (const taskId of taskIds) this.#engine.tasks.get(taskId)?.writer.lost();
    await this.#sharing.release(taskIds);
  }

  async forward(live: LiveTask, entry: NewMailboxEntry): Promise<Forwarded> {
    const { taskId } = live.writer;
    const isHere = !this.#engine.tasks.isElsewhere(live);
    // A cancel is posted first: most tasks have a process, which should receive it soon.
    if (entry.kind === "message" && isHere) {
      const at = performance.now();
      const claimed = await this.#sharing.claimTask(taskId);
      if (claimed !== undefined) {
        await this.#takeOver(claimed, at);
        return { kind: "claimed" };
      }
    }
    const posted = await this.#sharing.post(taskId, entry);
    if (posted.kind !== "posted") return posted;
    if (entry.kind === "cancel" && isHere) await this.#claimIfFree(taskId, false);
    await this.#untilGone(live, { ...entry, id: posted.id });
    await this.#engine.tasks.refresh(live);
    return { kind: "handled" };
  }

  /**
   * Resolves when an entry has been handled. It is removed by a commit, which wakes watchers. If the
   * process that was to handle it is gone, or does not work on the task any more, this one does. A
   * task that has to run on another host is only canceled by this one.
   */
  async #untilGone(live: LiveTask, { id: entryId, kind }: MailboxEntry): Promise<void> {
    const { taskId } = live.writer;
    let woken = Promise.withResolvers<void>();
    const stop = this.#engine.backend.watch(taskId, () => woken.resolve());
    try {
      for (;;) {
        const entries = await this.#sharing.mailbox(taskId);
        if (!entries.some(({ id }) => id === entryId)) return;
        await Promise.race([woken.promise, sleep(CLAIM_MS, undefined, { ref: false })]);
        woken = Promise.withResolvers();
        if (kind === "message") await this.#requireHost(live);
        await this.#claimIfFree(taskId, kind === "cancel");
      }
    } finally {
      stop();
    }
  }

  /** Throws if no process is on the host of the task. Its message is handled when one is. */
  async #requireHost(live: LiveTask): Promise<void> {
    if (!this.#engine.tasks.isElsewhere(live)) return;
    const replicas = await this.#sharing.replicas();
    if (replicas.some(({ host, leaseMs }) => host === live.host && leaseMs > 0)) return;
    throw new A2AError(
      "Unavailable",
      `task ${live.writer.taskId} has to run on the host ${JSON.stringify(live.host)}, where no server is up; it receives the message when one is`,
    );
  }

  async #claimIfFree(taskId: string, anyHost: boolean): Promise<void> {
    if (this.#isStopped || this.#engine.tasks.get(taskId)?.writer.isRunning === true) return;
    const at = performance.now();
    const claimed = await this.#sharing.claimTask(taskId, { anyHost });
    if (claimed !== undefined) await this.#takeOver(claimed, at);
  }

  setBack(taskId: string): void {
    const problem =
      "the log of a task is not what this process wrote, continuing from what is stored";
    this.#engine.logger.warn(problem, { taskId });
    const claim = this.#engine.keepTrying({ taskId }, () => this.#claimIfFree(taskId, false));
    this.#track(claim.then(() => undefined));
  }

  #claimNow(): void {
    this.#hasReleased = true;
    this.#releasedAt = performance.now();
    if (this.#timer === undefined || this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#track(this.#claimAll());
  }

  /** Claims what nobody works on, again and again. */
  async #claimAll(): Promise<void> {
    this.#timer = undefined;
    this.#hasReleased = false;
    let hasMore = false;
    try {
      const agentIds = Array.from(this.#engine.agents, ({ id }) => id);
      const at = performance.now();
      const dueAt = this.#engine.now() - (this.#isAfterRelease ? 0 : GRACE_MS);
      const abandoned = await this.#lookForStrays();
      const limit = MAX_CLAIMS;
      const claimed = await this.#sharing.claim({ agentIds, dueAt, abandoned, limit });
      await Promise.all(claimed.map((task) => this.#takeOver(task, at)));
      hasMore = claimed.length === MAX_CLAIMS;
      await this.#lookForHosts(dueAt);
    } catch (error) {
      this.#engine.logger.warn("tasks could not be claimed, trying again", { error });
    }
    if (this.#isStopped) return;
    const usualMs = this.#isAfterRelease ? RELEASED_CLAIM_MS : CLAIM_MS;
    const pauseMs = hasMore || this.#hasReleased ? 0 : usualMs * (0.8 + 0.4 * Math.random());
    this.#timer = setTimeout(() => this.#track(this.#claimAll()), pauseMs).unref();
  }

  /** Whether a process may have stopped a moment ago, and left tasks that sleep. */
  get #isAfterRelease(): boolean {
    return performance.now() - this.#releasedAt < GRACE_MS;
  }

  /**
   * The tasks that this process is recorded to work on, and does not: for example, because it did not
   * learn that a claim or a step was stored, which may happen long after it was sent. Only those that
   * were found at the last look too: this process may be about to start the others.
   */
  async #lookForStrays(): Promise<readonly string[]> {
    if (performance.now() < this.#straysAt) return [];
    const own = await this.#sharing.ownTasks();
    const before = this.#strays;
    this.#strays = new Set(own.filter((taskId) => !this.#isWorkedOn(taskId)));
    this.#straysAt = performance.now() + STRAYS_MS;
    return [...this.#strays].filter((taskId) => before.has(taskId));
  }

  #isWorkedOn(taskId: string): boolean {
    const live = this.#engine.tasks.get(taskId);
    if (live === undefined) return false;
    const { run, isQueued, writer } = live;
    if (isQueued || writer.settled !== undefined) return true;
    // A run that waits for its caller does not work, and neither should be recorded.
    return run !== undefined && (!run.isParked || writer.isRunning);
  }

  get waitingForHosts(): readonly WaitingForHost[] {
    return this.#waitingForHosts;
  }

  async #lookForHosts(dueAt: number): Promise<void> {
    const hasLocal = Array.from(this.#engine.agents).some(({ info }) => info.local === true);
    if (!hasLocal || performance.now() < this.#hostsAt) return;
    this.#hostsAt = performance.now() + HOSTS_MS;
    const before = new Set(this.#waitingForHosts.map(({ host }) => host));
    this.#waitingForHosts = await this.#sharing.waitingForHosts(dueAt);
    for (const { host, tasks } of this.#waitingForHosts) {
      if (!before.has(host)) {
        this.#engine.logger.warn("tasks wait for a server on their host", { host, tasks });
      }
    }
  }

  async #takeOver(claimed: ClaimedTask, at: number): Promise<void> {
    const { taskId, reason, hasMail } = claimed;
    this.#engine.metrics.count("tasksClaimed", [reason]);
    try {
      const entries = hasMail ? await this.#sharing.mailbox(taskId) : [];
      const cancels = entries.filter(({ kind }) => kind === "cancel").map(({ id }) => id);
      await takeOverClaimed(this.#engine, claimed, { at, queue: this.#queue, cancels });
      if (entries.length > cancels.length) this.#empty(taskId);
    } catch (error) {
      this.#engine.logger.warn("a task could not be taken over, trying again", { taskId, error });
      // Otherwise nobody would work on it while this process lives.
      await this.#engine.keepTrying({ taskId }, () => this.release([taskId]));
    }
  }

  #lost(taskId: string): void {
    const live = this.#engine.tasks.get(taskId);
    if (live === undefined) return;
    live.writer.lost();
    // If the database has lost the task, there is nothing more to do.
    void this.#engine.tasks.refreshInsisting(live);
  }

  /** Handles what is in the mailbox of a task, one entry after the other. */
  #empty(taskId: string): void {
    if (this.#emptying.has(taskId)) return void this.#emptying.set(taskId, true);
    this.#emptying.set(taskId, false);
    void this.#handleAll(taskId)
      .catch((error: unknown) =>
        this.#engine.logger.warn("a mailbox could not be read, trying again", { taskId, error }),
      )
      .finally(() => {
        const mayHaveMore = this.#emptying.get(taskId) === true;
        this.#emptying.delete(taskId);
        if (mayHaveMore) this.#empty(taskId);
      });
  }

  async #handleAll(taskId: string): Promise<void> {
    for (const entry of await this.#sharing.mailbox(taskId)) {
      const live = this.#engine.tasks.get(taskId);
      if (live === undefined) return;
      this.#engine.tasks.hold(live);
      try {
        await this.#engine.tasks.refresh(live);
        // It was lost meanwhile. The process that claims it finds the entries.
        if (!this.#engine.tasks.isCurrent(live)) return;
        if (entry.kind === "cancel") await cancelLive(this.#engine, live, [entry.id]);
        else await this.#deliver(live, entry);
      } finally {
        this.#engine.tasks.release(live);
      }
    }
  }

  /** Passes a message to the agent. If it is refused, the entry is removed, and its sender finds it gone. */
  async #deliver(live: LiveTask, { id, json }: MailboxEntry): Promise<void> {
    const { writer } = live;
    try {
      const agent = live.requireAgent();
      await receive(this.#engine, live, { ...readMessage(json), agent, mailboxId: id });
    } catch (error) {
      if (!A2AError.is(error)) throw error;
      await writer.append([], { epoch: writer.epoch, insist: true, mailbox: [id] });
    }
  }
}

/** A message on its way to another process. */
interface ForwardedMessage {
  readonly message: Message;
  readonly caller: Caller;
  readonly extensions?: readonly string[];
  readonly trace?: TraceContext;
  readonly isRetryable: boolean;
  readonly push?: NewPush;
}

function readMessage(json: string): Omit<AddressedMessage, "agent"> {
  const { message, caller, extensions, trace, isRetryable, push } = JSON.parse(
    json,
  ) as ForwardedMessage;
  return {
    message,
    caller,
    trace,
    isRetryable,
    ...(extensions && { extensions: new Set(extensions) }),
    ...(push && { push: () => push }),
  };
}
