import type { RemoteAgent } from "@convoke/client";
import { type AgentEnvironment, ERRORS, type Task } from "@convoke/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf, isUnspeakable } from "./remote-error.ts";
import type { SubAgentLink } from "./sub-agent-link.ts";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What is canceled: a task of a sub-agent, on behalf of its caller. */
export type Cancel = Omit<CancelRecord, "caller">;

const FIRST_WAIT_MS = 250;
const MOST_WAIT_MS = 15_000;

/** For how long it is tried. After that the next start of the agent tries again. */
const PATIENCE_MS = 10 * 60_000;

/** How long a message may be on its way; one that has begun nothing by then was lost. */
const ARRIVAL_MS = 30_000;

/** How long the end of the agent waits for those that are on their way. */
const CLOSE_MS = 1000;

/** Tells sub-agents to stop, until they have heard it: through losses of connections and restarts of either. */
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

  /** Takes up what an earlier process did not come to. */
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
      // It is canceled all the same, as long as this process lives.
      this.#logger?.warn("that a sub-agent is to be canceled could not be recorded", { error });
    }
    this.#begin(record);
  }

  /** What has no answer by then is left to the next start. */
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
    // Without its definition its address is unknown.
    if (link === undefined) return this.#records?.remove(record);
    const began = Date.now();
    const until = began + PATIENCE_MS;
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, MOST_WAIT_MS)) {
      try {
        const remote = await link.reach({ owner, signal: closing, patienceMs: 0 });
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
    const task = await findChild(remote, message!, this.#closing.signal);
    if (task === undefined) throw new NoTask(`message ${message!.messageId} began no task`);
    return task.id;
  }
}

/** A message has not begun a task, or not yet. */
class NoTask extends Error {
  override readonly name = "NoTask";
}

const OVER: ReadonlySet<unknown> = new Set([
  // An agent that cannot cancel, or cannot tell which tasks it has, will not learn it.
  ERRORS.MethodNotFound.code,
  ERRORS.UnsupportedOperation.code,
  ERRORS.TaskNotCancelable.code,
  ERRORS.TaskNotFound.code,
]);

/** It has ended already, or is no more. */
function isOver(error: unknown): boolean {
  return OVER.has(codeOf(error)) || isUnspeakable(error);
}

/** A task of a sub-agent that is to be canceled. */
interface CancelRecord {
  /** The agent that called it: several may keep their records in one folder. */
  readonly caller: string;
  /** The name of the sub-agent there. */
  readonly agent: string;
  readonly owner: string;
  /** Its task or, if that is unknown, the message that may have started it. */
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

  /** Writes at once, because the crash may come at once. */
  add(record: CancelRecord): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    writeFileSync(this.#path(record), JSON.stringify(record), { mode: 0o600 });
  }

  remove(record: CancelRecord): void {
    rmSync(this.#path(record), { force: true });
  }

  /** What an earlier process of this agent did not come to. */
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

/** What makes a cancel the one it is, among those of one caller. */
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

/** The message with which a sub-agent was called. */
interface SentMessage {
  readonly messageId: string;
  /** The context that it was sent to. */
  readonly childContextId: string;
}

/** As many of the newest messages of a task as are looked through. */
const MAX_HISTORY = 100;

const MAX_PAGES = 20;

const PAGE_SIZE = 50;

/** The task that a message began, when a crash came before the sub-agent had named it. */
export async function findChild(
  remote: RemoteAgent,
  { messageId, childContextId: contextId }: SentMessage,
  signal: AbortSignal,
): Promise<Task | undefined> {
  const request = { contextId, pageSize: PAGE_SIZE, historyLength: MAX_HISTORY, signal };
  let pageToken = "";
  for (let page = 0; page < MAX_PAGES; page++) {
    const asked = { ...request, ...(pageToken !== "" && { pageToken }) };
    const { tasks, nextPageToken } = await remote.list(asked);
    const found = tasks.find(({ history = [] }) =>
      history.some((message) => message.messageId === messageId),
    );
    if (found !== undefined || nextPageToken === "") return found;
    pageToken = nextPageToken;
  }
  return undefined;
}
