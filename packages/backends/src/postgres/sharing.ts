import { randomUUID } from "node:crypto";
import type { KeyValueStore, OpenValues } from "@convoke/protocol";
import { orAborted, sleep } from "@convoke/protocol/internal";
import type {
  ClaimQuery,
  ClaimedTask,
  MailboxEntry,
  NewMailboxEntry,
  PostResult,
  Replica,
  Sharing,
  WaitingForHost,
} from "@convoke/engine";
import { StorageError } from "../storage/storage-error.ts";
import type { Rows } from "./connection.ts";
import type { Hint, Hints } from "./hints.ts";
import type { Lease } from "./lease.ts";
import type { Reader } from "./reader.ts";
import { stateAt } from "./schema.ts";
import {
  CLAIM,
  CLAIM_ENDPOINTS,
  CLAIM_TASK,
  LEAVE,
  LOST,
  MAILBOX,
  MAILBOX_OF,
  OWN,
  POST,
  RELEASE,
  RELEASED,
  REPLICAS,
  WAITING_FOR_HOSTS,
  WHY_NOT_POSTED,
} from "./sharing-sql.ts";
import type { TaskChange } from "./step-plan.ts";
import type { StepWriter } from "./step-writer.ts";
import { toRecords } from "./task-sql.ts";
import { fromText, toText } from "./text.ts";
import type { WriteQueue } from "./write-queue.ts";

/** How often to look for mailbox entries and lost tasks, in case a hint was lost. */
const LOOK_MS = 1000;

/** How long it may take to give up all tasks. */
const LEAVE_MS = 2000;

interface Parts {
  readonly reader: Reader;
  readonly lease: Lease;
  readonly hints: Hints;
  readonly steps: StepWriter;
  readonly writes: WriteQueue;
  readonly values: OpenValues;
  readonly host: string;
  /** How long `settled` waits for other processes. */
  readonly settleMs: number;
}

type OnTasks = (taskIds: readonly string[]) => void;

/** The tasks of this process among those of all that use the database. */
export class PostgresSharing implements Sharing {
  readonly host: string;
  readonly #parts: Parts;
  readonly #own = new Set<string>();
  readonly #onMailbox = new Set<OnTasks>();
  readonly #onLost = new Set<OnTasks>();
  readonly #onReleased = new Set<() => void>();
  /** The answers of other processes to this one's question whether they are settled. */
  readonly #settling = new Map<string, (replica: number) => void>();
  readonly #looks: NodeJS.Timeout;
  #mailboxEntries = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.host = parts.host;
    parts.lease.onReplaced = () => this.#lose([...this.#own]);
    this.#looks = setInterval(() => {
      void this.#lookForMail();
      void this.#lookForLost();
    }, LOOK_MS).unref();
  }

  isHeld(since = performance.now()): boolean {
    return this.#parts.lease.isHeldSince(since);
  }

  /** How many entries there were for tasks of this process at the last look. */
  get mailboxEntries(): number {
    return this.#mailboxEntries;
  }

  /** Whether this process works on the task. */
  isOwn(taskId: string): boolean {
    return this.#own.has(taskId);
  }

  /** Remembers who works on a task that this process has written. */
  written({ taskId, before, after }: TaskChange): void {
    const self = this.#parts.lease.replica;
    if (after.runBy !== self) {
      this.#own.delete(taskId);
      if (after.runBy === RELEASED) this.#parts.hints.send({ kind: "released" });
      return;
    }
    this.#own.add(taskId);
    if (before.runBy !== self && before.runBy !== null) this.#tellLost(before.runBy, [taskId]);
  }

  receive(hint: Hint): void {
    const { lease, hints, writes } = this.#parts;
    if (hint.kind === "mailbox" && hint.replica === lease.replica) this.#hasMail([hint.taskId]);
    if (hint.kind === "lost" && hint.replica === lease.replica)
      void this.#lookForLost(hint.taskIds);
    if (hint.kind === "released") for (const released of this.#onReleased) released();
    if (hint.kind === "settled") this.#settling.get(hint.id)?.(hint.replica);
    if (hint.kind === "settle") {
      const answer = { kind: "settled", id: hint.id, replica: lease.replica } as const;
      void writes.settled().then(() => hints.send(answer));
    }
  }

  async claim(query: ClaimQuery): Promise<readonly ClaimedTask[]> {
    const { agentIds, dueAt, limit, abandoned = [] } = query;
    const { replica, isUnbroken } = this.#parts.lease;
    const own = abandoned.map(toText);
    const values = [replica, agentIds.map(toText), dueAt, limit, isUnbroken, own, this.host];
    return this.#claimed(await this.#parts.reader.once(CLAIM, values));
  }

  async ownTasks(): Promise<readonly string[]> {
    const rows = await this.#parts.reader.rows(OWN, [this.#parts.lease.replica]);
    return rows.map(([taskId]) => fromText(taskId as string));
  }

  async claimTask(
    taskId: string,
    { anyHost = false }: { readonly anyHost?: boolean } = {},
  ): Promise<ClaimedTask | undefined> {
    const { replica, isUnbroken } = this.#parts.lease;
    const values = [replica, toText(taskId), isUnbroken, anyHost ? null : this.host];
    return this.#claimed(await this.#parts.reader.rows(CLAIM_TASK, values))[0];
  }

  async release(taskIds: readonly string[]): Promise<void> {
    if (taskIds.length > 0) {
      await this.#parts.reader.rows(RELEASE, [this.#parts.lease.replica, taskIds.map(toText)]);
      this.#forget(taskIds);
    }
    this.#parts.hints.send({ kind: "released" });
  }

  async post(taskId: string, entry: NewMailboxEntry): Promise<PostResult> {
    const { reader } = this.#parts;
    const { kind, json, message } = entry;
    const messageId = message === undefined ? null : toText(message.messageId);
    const digest = message === undefined ? null : toText(message.digest);
    const values = [toText(taskId), kind, json, messageId, digest, Date.now()];
    for (;;) {
      const [row] = await reader.once(POST, values).catch((error: unknown) => {
        if (isTaken(error)) return [];
        throw error;
      });
      if (row !== undefined) {
        const [id, replica] = row as readonly [string, number | null];
        if (replica === this.#parts.lease.replica) this.#hasMail([taskId]);
        else if (replica !== null) this.#parts.hints.send({ kind: "mailbox", replica, taskId });
        return { kind: "posted", id };
      }
      const refusal = await this.#whyNotPosted(taskId, messageId);
      if (refusal !== undefined) return refusal;
    }
  }

  async mailbox(taskId: string): Promise<readonly MailboxEntry[]> {
    const rows = await this.#parts.reader.rows(MAILBOX, [toText(taskId)]);
    return (rows as readonly MailboxRow[]).map(([id, kind, json, messageId, digest]) => ({
      id,
      kind,
      json,
      ...(messageId !== null &&
        digest !== null && {
          message: { messageId: fromText(messageId), digest: fromText(digest) },
        }),
    }));
  }

  onMailbox(read: OnTasks): () => void {
    const listener: OnTasks = (taskIds) => read(taskIds);
    this.#onMailbox.add(listener);
    return () => this.#onMailbox.delete(listener);
  }

  onLost(lost: OnTasks): () => void {
    const listener: OnTasks = (taskIds) => lost(taskIds);
    this.#onLost.add(listener);
    return () => this.#onLost.delete(listener);
  }

  onReleased(released: () => void): () => void {
    const listener = (): void => released();
    this.#onReleased.add(listener);
    return () => this.#onReleased.delete(listener);
  }

  /** Asks the processes that live. One that does not answer in time is not waited for. */
  async settled(): Promise<void> {
    const { writes, hints, lease, settleMs } = this.#parts;
    const others = (await this.replicas()).filter(({ isSelf, leaseMs }) => !isSelf && leaseMs > 0);
    if (others.length > 0) {
      const id = randomUUID();
      const missing = new Set(others.map((other) => Number(other.id)));
      const answered = new Promise<void>((resolve) => {
        this.#settling.set(id, (replica) => {
          missing.delete(replica);
          if (missing.size === 0) resolve();
        });
      });
      hints.send({ kind: "settle", id, replica: lease.replica });
      await Promise.race([answered, sleep(settleMs)]);
      this.#settling.delete(id);
    }
    await writes.settled();
  }

  async claimEndpoints(limit: number): Promise<readonly string[]> {
    const rows = await this.#parts.reader.rows(CLAIM_ENDPOINTS, [this.#parts.lease.replica, limit]);
    return rows.map(([key]) => fromText(key as string));
  }

  async replicas(): Promise<readonly Replica[]> {
    return toReplicas(await this.#parts.reader.rows(REPLICAS), this.#parts.lease.replica);
  }

  values(collection: string): KeyValueStore {
    return this.#parts.values(collection);
  }

  async waitingForHosts(dueAt: number): Promise<readonly WaitingForHost[]> {
    return toWaiting(await this.#parts.reader.rows(WAITING_FOR_HOSTS, [dueAt]));
  }

  /** Gives up all tasks of this process, at its end. */
  async close(): Promise<void> {
    clearInterval(this.#looks);
    const { reader, lease } = this.#parts;
    // What cannot be given up now is claimed by others when the lease ends.
    const left = reader.rows(LEAVE, [lease.replica]);
    await orAborted(left, AbortSignal.timeout(LEAVE_MS)).catch(() => undefined);
  }

  #claimed(rows: Rows): readonly ClaimedTask[] {
    const self = this.#parts.lease.replica;
    const tasks = toRecords(rows).map((record, index) => {
      const [runBy, hasMail] = rows[index]!.slice(-2) as [number | null, boolean];
      // Its own is one that it has claimed before without an answer, or has given up.
      const isFree = runBy === RELEASED || runBy === self;
      const reason = runBy === null ? "due" : isFree ? "released" : "gone";
      const lost = reason === "gone" ? { lost: String(runBy) } : {};
      return { runBy, task: { ...record, reason, hasMail, ...lost } satisfies ClaimedTask };
    });
    for (const { task } of tasks) {
      this.#parts.steps.forget(task.taskId);
      this.#own.add(task.taskId);
    }
    const lost = Map.groupBy(tasks, ({ runBy }) => runBy);
    for (const [replica, some] of lost) {
      if (replica === null || replica === self) continue;
      this.#tellLost(
        replica,
        some.map(({ task }) => task.taskId),
      );
    }
    return tasks.map(({ task }) => task);
  }

  #tellLost(replica: number, taskIds: readonly string[]): void {
    if (replica === RELEASED) return;
    this.#parts.hints.sendMany(taskIds, (some) => ({ kind: "lost", replica, taskIds: some }));
  }

  async #whyNotPosted(taskId: string, messageId: string | null): Promise<PostResult | undefined> {
    const [row] = await this.#parts.reader.rows(WHY_NOT_POSTED, [toText(taskId), messageId]);
    if (row === undefined) return { kind: "unknown" };
    const [state, ended, takenBy, digest] = row as readonly [
      number,
      boolean,
      string | null,
      string | null,
    ];
    if (takenBy !== null && digest !== null) {
      return { kind: "duplicate", taskId: fromText(takenBy), digest: fromText(digest) };
    }
    return ended ? { kind: "terminal", state: stateAt(state) } : undefined;
  }

  async #lookForMail(): Promise<void> {
    if (this.#onMailbox.size === 0) return;
    const { reader, lease } = this.#parts;
    const rows = await reader.rows(MAILBOX_OF, [lease.replica]).catch(() => []);
    this.#mailboxEntries = rows.reduce((sum, [, count]) => sum + Number(count), 0);
    const taskIds = rows.map(([taskId]) => fromText(taskId as string));
    this.#hasMail(taskIds);
  }

  #hasMail(taskIds: readonly string[]): void {
    if (taskIds.length > 0) for (const read of this.#onMailbox) read(taskIds);
  }

  /** A hint may be old: the task may be this process's again. */
  async #lookForLost(taskIds: readonly string[] = [...this.#own]): Promise<void> {
    const { reader, lease, steps, writes } = this.#parts;
    const own = taskIds.filter((taskId) => this.#own.has(taskId) && !writes.hasWrite(taskId));
    if (own.length === 0) return;
    const heads = own.map((taskId) => steps.headOf(taskId) ?? 0);
    const rows = await reader.rows(LOST, [lease.replica, own.map(toText), heads]).catch(() => []);
    const lost = rows.map(([taskId]) => fromText(taskId as string));
    this.#lose(lost.filter((taskId) => this.#own.has(taskId) && !writes.hasWrite(taskId)));
  }

  #lose(taskIds: readonly string[]): void {
    this.#forget(taskIds);
    if (taskIds.length > 0) for (const lost of this.#onLost) lost(taskIds);
  }

  #forget(taskIds: readonly string[]): void {
    for (const taskId of taskIds) {
      this.#own.delete(taskId);
      this.#parts.steps.forget(taskId);
    }
  }
}

type MailboxRow = readonly [
  id: string,
  kind: MailboxEntry["kind"],
  json: string,
  messageId: string | null,
  digest: string | null,
];

type ReplicaRow = readonly [
  n: number,
  host: string,
  software: string,
  startedAt: number,
  leaseMs: number,
  running: number,
];

export function toWaiting(rows: Rows): readonly WaitingForHost[] {
  return rows.map(([host, tasks]) => ({ host: host as string, tasks: Number(tasks) }));
}

/** The result of `REPLICAS`. @param self the number of this process, if it is one of them */
export function toReplicas(rows: Rows, self?: number): readonly Replica[] {
  return (rows as readonly ReplicaRow[]).map(
    ([n, host, software, startedAt, leaseMs, running]) => ({
      id: String(n),
      host,
      software,
      startedAt,
      leaseMs,
      running,
      isSelf: n === self,
    }),
  );
}

/** The same message was posted or sent at the same time, so nothing was written. */
function isTaken(error: unknown): boolean {
  return error instanceof StorageError && error.code === "23505";
}
