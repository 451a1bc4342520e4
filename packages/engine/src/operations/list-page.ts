import { setImmediate as nextTurn } from "node:timers/promises";
import { A2AError, type TaskState, invalidParams, isTerminal } from "@convoke/protocol";
import type { TaskSnapshot } from "../log/task-snapshot.ts";
import type { ServedAgent } from "../run/agents.ts";
import type { Engine } from "../run/engine.ts";
import { type TaskScope, agentFilter } from "../run/live-tasks.ts";
import type { Call } from "./call.ts";
import type { ListPosition, TaskRecord } from "../log/backend.ts";

/** How many times its own size a page may read: a truncated history has to be read in full. */
const READ_FACTOR = 8;

/**
 * Limits the size of a page of a list in bytes. A page of tasks as large as the limits allow would
 * otherwise exhaust the heap, even if the number of tasks is limited.
 */
export class PageBudget {
  readonly #bytes: number;
  #shown = 0;
  #read = 0;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Adds an item if there is room. An empty page always has room, so that every page makes progress. */
  takes(shown: unknown): boolean {
    const bytes = Buffer.byteLength(JSON.stringify(shown));
    if (this.#shown > 0 && this.#shown + bytes > this.#bytes) return false;
    this.#shown += bytes;
    return true;
  }

  /** Counts what was read for the page, shown or not. */
  read({ size }: Pick<TaskSnapshot, "size">): void {
    this.#read += size;
  }

  /** Whether enough was read that the rest is left to the next page. */
  get isSpent(): boolean {
    return this.#read >= this.#bytes * READ_FACTOR;
  }
}

/** Reading a larger task takes milliseconds, so other requests get a turn in between. */
const LARGE = 256 * 1024;

/** Loads a task of a list; `undefined` if retention has removed it meanwhile. */
export async function findListed(
  taskId: string,
  engine: Engine,
  scope: TaskScope,
): Promise<TaskSnapshot | undefined> {
  try {
    const found = await engine.tasks.find(taskId, scope);
    if (found.size > LARGE) await nextTurn();
    return found;
  } catch (error) {
    if (A2AError.is(error) && error.reason === "TaskNotFound") return undefined;
    throw error;
  }
}

/** The position in a listing. It is self-contained: the server keeps no state between pages. */
export interface ListToken {
  /** When the listing started, in milliseconds since the epoch. */
  readonly at: number;
  /** Where the previous page ended. */
  readonly position: ListPosition | undefined;
}

export function encodeToken(at: number, position: ListPosition): string {
  return Buffer.from(`${at} ${position.statusAt} ${position.taskId}`).toString("base64url");
}

/** Returns `undefined` for a token that this server did not create. */
export function decodeToken(token: string): ListToken | undefined {
  const text = Buffer.from(token, "base64url").toString();
  const [, at, statusAt, taskId] = /^(\d{1,15}) (\d{1,15}) (\S+)$/.exec(text) ?? [];
  if (at === undefined || statusAt === undefined || taskId === undefined) return undefined;
  return { at: Number(at), position: { statusAt: Number(statusAt), taskId } };
}

/** Where a listing without a start time continues; `undefined` for its first page. */
export function parsePosition(pageToken: string | undefined): ListPosition | undefined {
  if (pageToken === undefined || pageToken === "") return undefined;
  const token = decodeToken(pageToken);
  if (token === undefined) throw invalidParams("pageToken", "is not a token of an earlier page");
  return token.position;
}

/** Whose tasks an operation is about. */
export interface OwnersCall extends Pick<Call, "engine" | "caller" | "files"> {
  /** Of several agents, only the tasks of this one. Default: of all. */
  readonly agent?: ServedAgent | undefined;
  /** Which owners' tasks are meant. Default: only the caller's own. */
  readonly owners?: ((owner: string) => boolean) | undefined;
}

/** A task that was examined for a list, whether it belongs there or not. */
interface ExaminedTask {
  readonly record: TaskRecord;
  readonly isMatch: boolean;
}

const BATCH = 64;

/** Which tasks belong to a list. */
interface TaskFilter {
  readonly state?: TaskState;
  readonly contextId?: string;
  readonly idPrefix?: string;
}

/** Sorts after every task id with the same beginning. */
const LAST = "\u{10FFFF}";

/**
 * Examines listed tasks, starting after a position: those of the caller, newest status first, or
 * those of several owners, newest id first. Indexes have the owner in front, so tasks of several
 * owners are examined one by one, and the reader decides how many are enough for a page. Tasks with
 * the beginning of an id are found by id in any case.
 */
export async function* examineTasks(
  { engine, caller, owners, agent }: OwnersCall,
  { idPrefix, ...filter }: TaskFilter,
  start: ListPosition | undefined,
): AsyncGenerator<ExaminedTask> {
  const { tasks } = engine.backend;
  const { state, contextId } = filter;
  const scope = engine.scope(caller, agent);
  await engine.settled();
  const isUnfinished = state !== undefined && !isTerminal(state);
  const nextBatch = async (after: ListPosition | undefined): Promise<readonly TaskRecord[]> => {
    if (owners !== undefined || idPrefix !== undefined) {
      const before = after?.taskId ?? (idPrefix && idPrefix + LAST);
      return tasks.newest({ limit: BATCH, isUnfinished, ...(before && { before }) });
    }
    const query = {
      owner: scope.owner,
      ...agentFilter(scope),
      limit: BATCH,
      ...filter,
      ...(after && { after }),
    };
    return (await tasks.list(query)).records;
  };
  for (let after = start; ;) {
    const records = await nextBatch(after);
    for (const record of records) {
      if (idPrefix !== undefined && !record.taskId.startsWith(idPrefix)) return;
      const isMatch =
        record.listed &&
        (owners?.(record.owner) ?? record.owner === caller.owner) &&
        scope.agent?.owns(record) !== false &&
        (state === undefined || record.state === state) &&
        (contextId === undefined || record.contextId === contextId);
      yield { record, isMatch };
    }
    if (records.length < BATCH) return;
    after = records.at(-1);
  }
}
