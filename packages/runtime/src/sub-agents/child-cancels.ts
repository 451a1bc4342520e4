import type { RemoteAgent } from "@convoke/client";
import { type AgentEnvironment, ERRORS } from "@convoke/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf, isUnspeakable } from "./remote-error.ts";
import type { SubAgentLink } from "./sub-agent-link.ts";
import {
  type CancelRecord,
  type CancelRecords,
  cancelKey,
  openCancelRecords,
} from "./cancel-records.ts";

/** A pending cancel of a sub-agent's task, with the owner on whose behalf it was called. */
export type Cancel = Omit<CancelRecord, "caller">;

const FIRST_WAIT_MS = 250;
const MOST_WAIT_MS = 15_000;

/** How long to retry a cancel. After that, it is retried later, or at the next start of the agent. */
const RETRY_FOR_MS = 10 * 60_000;

/** When a cancel that could not be sent is retried, if the processes of the agent share it. */
const LATER_MS = 60 * 60_000;

/** How often to look for cancels of processes that are gone, and to renew those of this one. */
const LOOK_MS = 3000;

/** How long a message may take to start a task. After that, it is considered lost. */
const ARRIVAL_MS = 30_000;

/** How long closing the agent waits for cancels in progress. */
const CLOSE_MS = 1000;

/**
 * Cancels tasks of sub-agents, and retries until the sub-agent confirms, across lost connections
 * and restarts on either side.
 */
export class ChildCancels {
  readonly #caller: string;
  readonly #find: (agent: string) => SubAgentLink | undefined;
  readonly #underWay = new Map<string, UnderWay>();
  #records: CancelRecords | undefined;
  #logger: AgentEnvironment["logger"];
  #looks: NodeJS.Timeout | undefined;
  #isLooking = false;
  #closing = new AbortController();

  constructor(caller: string, find: (agent: string) => SubAgentLink | undefined) {
    this.#caller = caller;
    this.#find = find;
  }

  /** Resumes cancels that an earlier process did not finish, or one that is gone. */
  prepare(place: AgentEnvironment): void {
    this.#logger = place.logger;
    this.#records = openCancelRecords(place, this.#caller);
    clearInterval(this.#looks);
    void this.#look();
    if (place.values !== undefined) {
      this.#looks = setInterval(() => void this.#look(), LOOK_MS).unref();
    }
  }

  add(cancel: Cancel): void {
    const record = { caller: this.#caller, ...cancel };
    this.#begin(record, this.#record(record));
  }

  /** Waits briefly for cancels in progress; unfinished ones are retried at the next start. */
  async close(): Promise<void> {
    clearInterval(this.#looks);
    const underWay = [...this.#underWay.values()];
    const all = Promise.all(underWay.map(({ done }) => done));
    await Promise.race([all, sleep(CLOSE_MS, undefined, { ref: false })]);
    const left = [...this.#underWay.values()];
    this.#closing.abort(new Error("the agent is closed"));
    this.#closing = new AbortController();
    await Promise.allSettled(left.map(async ({ record }) => this.#records?.release(record, 0)));
  }

  /** `FileRecords` writes before this returns. */
  async #record(record: CancelRecord): Promise<void> {
    try {
      await this.#records?.add(record);
    } catch (error) {
      // The cancel is still attempted while this process lives.
      this.#logger?.warn("that a sub-agent is to be canceled could not be recorded", { error });
    }
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      for (const { record, stop } of this.#underWay.values()) {
        if ((await this.#records?.renew(record)) === false) stop();
      }
      for (const record of (await this.#records?.claim()) ?? []) this.#begin(record);
    } catch (error) {
      this.#logger?.warn("pending cancels of sub-agents could not be read", { error });
    } finally {
      this.#isLooking = false;
    }
  }

  /** @param recorded resolves when the cancel was stored, or could not be */
  #begin(record: CancelRecord, recorded?: Promise<void>): void {
    const key = cancelKey(record);
    if (this.#underWay.has(key)) return;
    const stopping = new AbortController();
    const signal = AbortSignal.any([this.#closing.signal, stopping.signal]);
    const sent = (async () => {
      await recorded;
      await this.#send(record, signal);
    })();
    const done = sent.finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, { record, done, stop: () => stopping.abort(new Error("stopped")) });
  }

  async #send(record: CancelRecord, signal: AbortSignal): Promise<void> {
    try {
      signal.throwIfAborted();
      await this.#deliver(record, signal);
    } catch (error) {
      if (signal.aborted) return;
      const { agent, childTaskId, message } = record;
      const facts = { agent, childTaskId, messageId: message?.messageId, error };
      this.#logger?.warn("a sub-agent could not be canceled", facts);
      // If that fails too, others claim it when it is no longer renewed.
      await this.#records?.release(record, LATER_MS).catch(() => undefined);
    }
  }

  async #deliver(record: CancelRecord, closing: AbortSignal): Promise<void> {
    const { agent, owner } = record;
    const link = this.#find(agent);
    // The sub-agent was removed from the definition, so its address is unknown.
    if (link === undefined) return this.#records?.remove(record);
    const began = Date.now();
    const until = began + RETRY_FOR_MS;
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, MOST_WAIT_MS)) {
      try {
        const remote = await link.reach({ owner, signal: closing, retryForMs: 0 });
        await remote.cancel(await this.#taskOf(record, remote), { signal: closing });
        return this.#records?.remove(record);
      } catch (error) {
        const isLost = error instanceof NoTask && Date.now() > began + ARRIVAL_MS;
        if (isLost || isOver(error)) return this.#records?.remove(record);
        closing.throwIfAborted();
        if (Date.now() + waitMs > until) throw error;
        await sleep(waitMs, undefined, { signal: closing, ref: false });
      }
    }
  }

  async #taskOf({ childTaskId, message }: CancelRecord, remote: RemoteAgent): Promise<string> {
    if (childTaskId !== undefined) return childTaskId;
    const { messageId, childContextId: contextId } = message!;
    const { findTask } = await import("@convoke/client/connection");
    const task = await findTask(remote, { messageId, contextId }, this.#closing.signal);
    if (task === undefined) throw new NoTask(`message ${messageId} began no task`);
    return task.id;
  }
}

/** A cancel that this process sends. */
interface UnderWay {
  readonly record: CancelRecord;
  readonly done: Promise<void>;
  /** Leaves it to another process. */
  readonly stop: () => void;
}

/** The message has not started a task, or not yet. */
class NoTask extends Error {
  override readonly name = "NoTask";
}

const OVER: ReadonlySet<unknown> = new Set([
  // An agent that does not support cancel or list will not support it on a retry either.
  ERRORS.MethodNotFound.code,
  ERRORS.UnsupportedOperation.code,
  ERRORS.TaskNotCancelable.code,
  ERRORS.TaskNotFound.code,
]);

/** Whether retrying is pointless: the task has ended, does not exist, or cannot be canceled. */
function isOver(error: unknown): boolean {
  return OVER.has(codeOf(error)) || isUnspeakable(error);
}
