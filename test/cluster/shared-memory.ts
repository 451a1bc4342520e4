import { MemoryValues, createMemoryBackend } from "@convoke/engine/memory";
import { isTerminal } from "@convoke/protocol";
import {
  type Backend,
  type ClaimQuery,
  type ClaimedTask,
  type CommitResult,
  type CommitStep,
  type MailboxEntry,
  type NewMailboxEntry,
  type PostResult,
  type Replica,
  type Seq,
  type Sharing,
  type StoredTask,
  type WaitingForHost,
  Watchers,
} from "@convoke/engine";

/** The replica that a task was released by, so that any other claims it. */
const RELEASED = 0;

/**
 * A storage in memory that several engines of a test share, each through a backend of its own. It
 * behaves like a database: a backend can lose its lease and go on, and hints can be lost.
 */
export class SharedMemory {
  readonly inner: Backend = createMemoryBackend();
  readonly values = new MemoryValues();
  readonly runBy = new Map<string, number>();
  readonly mailbox = new Map<string, MailboxEntry[]>();
  readonly replicas: SharedBackend[] = [];
  /** The replica that delivers to each endpoint. */
  readonly endpoints = new Map<string, number>();
  /** Whether replicas hear of each other's commits and mailbox entries at once. */
  hasHints = true;
  #entries = 0;

  open(host = "test"): SharedBackend {
    const backend = new SharedBackend(this, this.replicas.length + 1, host);
    this.replicas.push(backend);
    return backend;
  }

  nextEntry(): string {
    return `${++this.#entries}`;
  }

  isFree(taskId: string, claimer: number): boolean {
    const by = this.runBy.get(taskId);
    if (by === undefined || by === RELEASED || by === claimer) return true;
    return !this.replicas[by - 1]!.isAlive;
  }

  /** How many tasks have to run on a host on which no replica is alive. */
  async waitingForHosts(): Promise<readonly WaitingForHost[]> {
    const alive = new Set(this.replicas.filter(({ isAlive }) => isAlive).map(({ host }) => host));
    const tasks = await this.inner.tasks.unfinished("", 1000);
    const waiting = tasks.filter(({ taskId, host }) => this.runBy.has(taskId) && !alive.has(host!));
    const byHost = Map.groupBy(waiting, ({ host }) => host);
    return [...byHost].flatMap(([host, some]) =>
      host === undefined ? [] : [{ host, tasks: some.length }],
    );
  }

  /** Gives a task to a replica, with a new epoch. */
  async take(task: StoredTask, replica: number): Promise<ClaimedTask | undefined> {
    const { taskId, epoch, head, state, statusAt, listed } = task;
    const before = this.runBy.get(taskId);
    const lost = before === undefined || before === RELEASED ? undefined : before;
    const step = { taskId, after: { head, epoch }, epoch: epoch + 1, events: [], state, statusAt };
    const { kind } = await this.inner.commit({ ...step, listed });
    if (kind !== "committed") return undefined;
    this.runBy.set(taskId, replica);
    if (lost !== undefined && lost !== replica) this.replicas[lost - 1]!.lose(taskId);
    const isReleased = before === RELEASED || before === replica;
    const reason = before === undefined ? "due" : isReleased ? "released" : "gone";
    const hasMail = (this.mailbox.get(taskId) ?? []).length > 0;
    const facts = { reason, hasMail, ...(reason === "gone" && { lost: `${before}` }) } as const;
    return { ...task, epoch: epoch + 1, ...facts };
  }

  tell(tellOne: (replica: SharedBackend) => void, isHint = true): void {
    if (isHint && !this.hasHints) return;
    for (const replica of this.replicas) tellOne(replica);
  }
}

/** One replica's view of the storage. */
export class SharedBackend implements Backend {
  readonly #shared: SharedMemory;
  readonly #n: number;
  readonly host: string;
  readonly sharing: Sharing;
  readonly #watchers = new Watchers();
  readonly #onMailbox = new Set<(taskIds: readonly string[]) => void>();
  readonly #onLost = new Set<(taskIds: readonly string[]) => void>();
  readonly #onReleased = new Set<() => void>();
  /** How many of the next commits are stored without an answer. */
  lostAnswers = 0;
  /** How many of the next reads of tasks fail. */
  failedReads = 0;
  /** Whether this process claims tasks by itself, and not only those that somebody wants something of. */
  isClaiming = true;
  /** Delays the answer to a claim of one task, which is stored already. */
  afterClaim: () => Promise<void> = async () => {};
  #isAlive = true;
  #heldSince = performance.now();

  constructor(shared: SharedMemory, n: number, host: string) {
    this.#shared = shared;
    this.#n = n;
    this.host = host;
    this.sharing = this.#createSharing();
  }

  /** False after a crash, or while the process is paused for longer than its lease. */
  get isAlive(): boolean {
    return this.#isAlive;
  }

  set isAlive(isAlive: boolean) {
    if (isAlive && !this.#isAlive) this.#heldSince = performance.now();
    this.#isAlive = isAlive;
  }

  get tasks(): Backend["tasks"] {
    if (this.failedReads > 0) {
      this.failedReads -= 1;
      throw connectionLost();
    }
    return this.#shared.inner.tasks;
  }

  get pushes(): Backend["pushes"] {
    return this.#shared.inner.pushes;
  }

  get retention(): Backend["retention"] {
    return this.#shared.inner.retention;
  }

  async commit(step: CommitStep): Promise<CommitResult> {
    const { runBy, mailbox } = this.#shared;
    const result = await this.#shared.inner.commit(step);
    if (result.kind !== "committed") return result;
    const { taskId, running, state } = step;
    const taken = new Set(step.mailbox);
    mailbox.set(
      taskId,
      (mailbox.get(taskId) ?? []).filter(({ id }) => !taken.has(id)),
    );
    if (running === true) {
      const before = runBy.get(taskId);
      runBy.set(taskId, this.#n);
      if (before !== undefined && before !== RELEASED && before !== this.#n) {
        this.#shared.replicas[before - 1]!.lose(taskId);
      }
    }
    if (running === "elsewhere") runBy.set(taskId, RELEASED);
    if (running === false || isTerminal(state)) runBy.delete(taskId);
    if (isTerminal(state)) mailbox.delete(taskId);
    if (this.lostAnswers > 0) {
      this.lostAnswers -= 1;
      throw connectionLost();
    }
    this.#watchers.wake(taskId, result.head);
    this.#shared.tell((replica) => replica !== this && replica.hear(taskId, result.head));
    return result;
  }

  read(taskId: string, after: Seq, limit: number): ReturnType<Backend["read"]> {
    return this.#shared.inner.read(taskId, after, limit);
  }

  watch(taskId: string, wake: (head: Seq) => void): () => void {
    let known: Seq | undefined;
    const stop = this.#watchers.watch(taskId, (head) => wake((known = head)));
    const poll = setInterval(() => {
      void this.#shared.inner.tasks.record(taskId).then((task) => {
        const head = task?.head ?? 0;
        if (head !== known) wake((known = head));
      });
    }, 50).unref();
    return () => {
      clearInterval(poll);
      stop();
    };
  }

  hear(taskId: string, head: Seq): void {
    this.#watchers.wake(taskId, head);
  }

  hearReleased(): void {
    for (const released of this.#onReleased) released();
  }

  hearMailbox(taskId: string): void {
    if (this.#shared.runBy.get(taskId) !== this.#n) return;
    for (const read of this.#onMailbox) read([taskId]);
  }

  lose(taskId: string): void {
    if (this.#shared.hasHints) for (const lost of this.#onLost) lost([taskId]);
  }

  async close(): Promise<void> {
    this.isAlive = false;
  }

  #createSharing(): Sharing {
    return {
      host: this.host,
      isHeld: (since = performance.now()) => this.isAlive && this.#heldSince <= since,
      claim: (query) => this.#claim(query),
      claimTask: async (taskId, { anyHost = false } = {}) => {
        const task = await this.tasks.get(taskId);
        if (task === undefined || isTerminal(task.state)) return undefined;
        if (!anyHost && !this.#isHere(task)) return undefined;
        if (!this.#shared.isFree(taskId, this.#n)) return undefined;
        const taken = await this.#shared.take(task, this.#n);
        await this.afterClaim();
        return taken;
      },
      ownTasks: async () =>
        [...this.#shared.runBy].filter(([, by]) => by === this.#n).map(([taskId]) => taskId),
      post: (taskId, entry) => this.#post(taskId, entry),
      mailbox: async (taskId) => this.#shared.mailbox.get(taskId) ?? [],
      onMailbox: (read) => {
        this.#onMailbox.add(read);
        const poll = setInterval(() => {
          for (const [taskId, entries] of this.#shared.mailbox) {
            if (entries.length > 0) this.hearMailbox(taskId);
          }
        }, 50).unref();
        return () => {
          clearInterval(poll);
          this.#onMailbox.delete(read);
        };
      },
      onLost: (lost) => {
        this.#onLost.add(lost);
        return () => this.#onLost.delete(lost);
      },
      onReleased: (released) => {
        this.#onReleased.add(released);
        return () => this.#onReleased.delete(released);
      },
      release: async (taskIds) => {
        for (const taskId of taskIds) {
          if (this.#shared.runBy.get(taskId) === this.#n) this.#shared.runBy.set(taskId, RELEASED);
        }
        this.#shared.tell((replica) => replica !== this && replica.hearReleased());
      },
      settled: async () => {},
      values: (collection) => this.#shared.values.open(collection),
      claimEndpoints: async () => {
        const { endpoints, replicas } = this.#shared;
        for (const { config } of await this.pushes.list({ state: "active", limit: 1000 })) {
          const { origin, pathname } = new URL((JSON.parse(config) as { url: string }).url);
          const by = endpoints.get(origin + pathname);
          const isFree = by === undefined || !replicas[by - 1]!.isAlive;
          if (isFree) endpoints.set(origin + pathname, this.#n);
        }
        return [...endpoints].filter(([, by]) => by === this.#n).map(([key]) => key);
      },
      replicas: async () =>
        this.#shared.replicas.map((replica, index) => ({
          id: `${index + 1}`,
          host: replica.host,
          software: "test",
          startedAt: 0,
          leaseMs: replica.isAlive ? 1000 : -1,
          running: [...this.#shared.runBy.values()].filter((by) => by === index + 1).length,
          isSelf: replica === this,
        })) satisfies readonly Replica[],
      waitingForHosts: () => this.#shared.waitingForHosts(),
    };
  }

  #isHere({ host }: Pick<StoredTask, "host">): boolean {
    return host === undefined || host === this.host;
  }

  async #claim(query: ClaimQuery): Promise<readonly ClaimedTask[]> {
    const { agentIds, dueAt, abandoned = [], limit } = query;
    const claimed: ClaimedTask[] = [];
    if (!this.isClaiming) return claimed;
    for (const { taskId } of await this.tasks.unfinished("", 1000)) {
      if (claimed.length >= limit) break;
      const task = await this.tasks.get(taskId);
      if (task === undefined || !agentIds.includes(task.agentId ?? "")) continue;
      if (!this.#isHere(task)) continue;
      const by = this.#shared.runBy.get(taskId);
      const isDue = by === undefined && (task.wakeAt ?? Infinity) <= dueAt;
      const isOwn = by === this.#n && !abandoned.includes(taskId);
      const isWanted = by !== undefined && !isOwn && this.#shared.isFree(taskId, this.#n);
      if (!isDue && !isWanted) continue;
      const taken = await this.#shared.take(task, this.#n);
      if (taken !== undefined) claimed.push(taken);
    }
    return claimed;
  }

  async #post(taskId: string, entry: NewMailboxEntry): Promise<PostResult> {
    const task = await this.tasks.get(taskId);
    if (task === undefined) return { kind: "unknown" };
    if (isTerminal(task.state)) return { kind: "terminal", state: task.state };
    const entries = this.#shared.mailbox.get(taskId) ?? [];
    const { message } = entry;
    const earlier =
      message && entries.find((other) => other.message?.messageId === message.messageId);
    if (earlier?.message !== undefined) {
      return { kind: "duplicate", taskId, digest: earlier.message.digest };
    }
    const id = this.#shared.nextEntry();
    this.#shared.mailbox.set(taskId, [...entries, { ...entry, id }]);
    this.#shared.tell((replica) => replica.hearMailbox(taskId));
    return { kind: "posted", id };
  }
}

function connectionLost(): Error {
  return Object.assign(new Error("the connection was lost"), { isPermanent: false });
}
