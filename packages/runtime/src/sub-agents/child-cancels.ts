import type { RemoteAgent } from "@convoke/client";
import { type AgentEnvironment, ERRORS } from "@convoke/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf, isUnspeakable } from "./remote-error.ts";
import type { SubAgentLink } from "./sub-agent-link.ts";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A pending cancel of a sub-agent's task, with the owner on whose behalf it was called. */
export type Cancel = Omit<CancelRecord, "caller">;

const FIRST_WAIT_MS = 250;
const MOST_WAIT_MS = 15_000;

/** How long to retry a cancel. After that, it is retried at the next start of the agent. */
const RETRY_FOR_MS = 10 * 60_000;

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
  readonly #underWay = new Map<string, Promise<void>>();
  #records: CancelRecords | undefined;
  #logger: AgentEnvironment["logger"];
  #closing = new AbortController();

  constructor(caller: string, find: (agent: string) => SubAgentLink | undefined) {
    this.#caller = caller;
    this.#find = find;
  }

  /** Resumes cancels that an earlier process did not finish. */
  prepare({ folder, logger }: AgentEnvironment): void {
    this.#logger = logger;
    this.#records = folder === undefined ? undefined : new CancelRecords(folder, this.#caller);
    for (const record of this.#records?.all() ?? []) this.#begin(record);
  }

  add(cancel: Cancel): void {
    const record = { caller: this.#caller, ...cancel };
    try {
      this.#records?.add(record);
    } catch (error) {
      // The cancel is still attempted while this process lives.
      this.#logger?.warn("that a sub-agent is to be canceled could not be recorded", { error });
    }
    this.#begin(record);
  }

  /** Waits briefly for cancels in progress; unfinished ones are retried at the next start. */
  async close(): Promise<void> {
    const all = Promise.allSettled(this.#underWay.values());
    await Promise.race([all, sleep(CLOSE_MS, undefined, { ref: false })]);
    this.#closing.abort(new Error("the agent is closed"));
    this.#closing = new AbortController();
  }

  #begin(record: CancelRecord): void {
    const key = cancelKey(record);
    if (this.#underWay.has(key)) return;
    const { signal } = this.#closing;
    const done = this.#deliver(record, signal)
      .catch((error: unknown) => {
        if (signal.aborted) return;
        const { agent, childTaskId, message } = record;
        const facts = { agent, childTaskId, messageId: message?.messageId, error };
        this.#logger?.warn("a sub-agent could not be canceled", facts);
      })
      .finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, done);
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

/** A cancel as it is stored on disk. */
interface CancelRecord {
  /** The calling agent. Several agents may keep their records in the same folder. */
  readonly caller: string;
  /** The name of the sub-agent in the caller's definition. */
  readonly agent: string;
  readonly owner: string;
  /** The task to cancel or, if its id is unknown, the message that may have started it. */
  readonly childTaskId?: string;
  readonly message?: SentMessage;
}

const FILE = /^sub-agent-cancel-[0-9a-f]{32}\.json$/;

/** Keeps pending cancels in a folder, one file each, so that a crash does not lose them. */
class CancelRecords {
  readonly #folder: string;
  readonly #caller: string;

  constructor(folder: string, caller: string) {
    this.#folder = folder;
    this.#caller = caller;
  }

  /** Writes synchronously, because a crash may follow immediately. */
  add(record: CancelRecord): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    writeFileSync(this.#path(record), JSON.stringify(record), { mode: 0o600 });
  }

  remove(record: CancelRecord): void {
    rmSync(this.#path(record), { force: true });
  }

  /** The cancels that an earlier process of this agent did not finish. */
  all(): readonly CancelRecord[] {
    return this.#files().flatMap((file) => {
      const record = read(join(this.#folder, file));
      return record?.caller === this.#caller ? [record] : [];
    });
  }

  #path(record: CancelRecord): string {
    const name = JSON.stringify([record.caller, cancelKey(record)]);
    const digest = createHash("sha256").update(name).digest("hex").slice(0, 32);
    return join(this.#folder, `sub-agent-cancel-${digest}.json`);
  }

  #files(): readonly string[] {
    try {
      return readdirSync(this.#folder).filter((name) => FILE.test(name));
    } catch {
      return [];
    }
  }
}

/** Identifies a cancel among those of one caller. */
function cancelKey(record: Omit<CancelRecord, "caller">): string {
  const { agent, owner, childTaskId, message } = record;
  return JSON.stringify([agent, owner, childTaskId ?? message?.messageId]);
}

function read(path: string): CancelRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(path, "utf8")) as CancelRecord;
    const { caller, agent, owner, childTaskId, message } = record;
    const what = childTaskId === undefined ? Object.values(message ?? {}) : [childTaskId];
    const texts = [caller, agent, owner, ...what];
    const isWhole = what.length > 0 && texts.every((text) => typeof text === "string");
    return isWhole ? record : undefined;
  } catch {
    return undefined;
  }
}

/** The message that called the sub-agent. */
interface SentMessage {
  readonly messageId: string;
  /** The context that the message was sent to. */
  readonly childContextId: string;
}
