import { hash } from "node:crypto";
import { A2AError, type ErasureScope } from "@convoke/protocol";
import { orAborted } from "@convoke/protocol/internal";
import { endBeforeRemoval, removeTasks } from "../lifecycle/remove-tasks.ts";
import type { Backend, TaskRecord } from "../log/backend.ts";
import type { Engine } from "../run/engine.ts";
import type { ServedAgent } from "../run/agents.ts";
import { newId } from "../task/new-id.ts";
import { readStart } from "./task-records.ts";

/** Whose data is erased. */
export interface ErasureSubject {
  readonly owner: string;
  /** Only this conversation of the owner. Default: everything. */
  readonly contextId?: string | undefined;
}

/** What is stored about an erasure: first what to erase, and when only deleted bytes are left, a digest of it. */
type ErasureState =
  | (ErasureSubject & { readonly startedAt: number })
  | { readonly subject: string; readonly tasks: number };

const PAGE = 256;

const BATCH = 100;

/**
 * Stores that something is to be erased. A running engine on the storage does it within a minute, the
 * next one when it starts. Resolves to the id of the erasure.
 */
export async function requestErasure(
  { retention }: Pick<Backend, "retention">,
  { owner, contextId }: ErasureSubject,
  now: number,
): Promise<string> {
  const id = newId(now);
  const state: ErasureState = { owner, contextId, startedAt: now };
  await retention.putErasure(id, JSON.stringify(state));
  return id;
}

/**
 * Erases owners and conversations, one after the other. Each is stored before it begins and until it is
 * done, so that another process finishes what this one cannot. Every step can be repeated.
 */
export class Erasures {
  readonly #engine: Engine;
  readonly #eraseMore: (scope: ErasureScope) => Promise<void>;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    engine: Engine,
    eraseMore: (scope: ErasureScope) => Promise<void> = async () => undefined,
  ) {
    this.#engine = engine;
    this.#eraseMore = eraseMore;
  }

  /**
   * Erases everything that existed when it was called; unfinished tasks are canceled. Resolves to the
   * number of erased tasks. If it rejects, it is tried again later.
   */
  async erase(subject: ErasureSubject): Promise<number> {
    const { backend, now } = this.#engine;
    const id = await requestErasure(backend, subject, now());
    return this.#inTurn(() => this.#finish(id));
  }

  /** Finishes what was begun. Failures are logged: it is tried again later. */
  async resume(): Promise<void> {
    await this.#orLogged(async () => {
      for (const { id } of await this.#engine.backend.retention.erasures()) {
        await this.#orLogged(() => this.#inTurn(() => this.#finish(id)));
      }
    });
  }

  async #orLogged(work: () => Promise<unknown>): Promise<void> {
    const { logger, closing } = this.#engine;
    try {
      await work();
    } catch (error) {
      if (!closing.aborted) logger.error("an erasure failed, trying again", { error });
    }
  }

  /** Resolves when none runs any more. Call it when the engine is closing: the next process finishes them. */
  async close(): Promise<void> {
    await this.#last;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const { closing } = this.#engine;
    const done = this.#last.then(work).catch((cause: unknown) => {
      if (!closing.aborted) throw cause;
      const problem = "the server is stopping: the erasure is finished when it starts again";
      throw new A2AError("Unavailable", problem, { cause });
    });
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #finish(id: string): Promise<number> {
    this.#engine.closing.throwIfAborted();
    const { retention } = this.#engine.backend;
    const stored = (await retention.erasures()).find((one) => one.id === id);
    // Another process may have finished it.
    if (stored === undefined) return 0;
    const state = JSON.parse(stored.json) as ErasureState;
    const { subject, tasks } = "owner" in state ? await this.#eraseSubject(id, state) : state;
    await retention.purge();
    if (await retention.putErasure(id, null)) {
      this.#engine.audit.record("erasure.finished", { subject, tasks });
    }
    return tasks;
  }

  async #eraseSubject(
    id: string,
    state: ErasureSubject & { readonly startedAt: number },
  ): Promise<{ readonly subject: string; readonly tasks: number }> {
    const { owner, contextId, startedAt } = state;
    const isMeant = (record: TaskRecord): boolean =>
      record.createdAt <= startedAt && (contextId === undefined || record.contextId === contextId);
    const records = await tasksOf(this.#engine, owner, isMeant);
    const contextIds = contextId === undefined ? [] : [contextId];
    const scope = { owner, isWholeOwner: contextId === undefined, contextIds };
    await eraseTasks(this.#engine, { records, scope, eraseMore: this.#eraseMore });
    const erased = { subject: subjectDigest(state), tasks: records.length };
    // From here on nothing names the owner, and only deleted bytes are left.
    await this.#engine.backend.retention.putErasure(id, JSON.stringify(erased));
    return erased;
  }
}

/** Identifies a subject in the audit log without its name. */
export function subjectDigest({ owner, contextId }: ErasureSubject): string {
  const text = contextId === undefined ? owner : JSON.stringify([owner, contextId]);
  return `sha256:${hash("sha256", text, "hex")}`;
}

/** Erases the tasks that an agent of this process did for others, or all of an owner. */
export async function eraseCalled(engine: Engine, scope: ErasureScope): Promise<void> {
  const { owner, isWholeOwner } = scope;
  const callers = new Set(scope.taskIds);
  const records: TaskRecord[] = [];
  for (const record of await tasksOf(engine, owner, () => true)) {
    if (isWholeOwner || (await isCalledBy(engine, record, callers))) records.push(record);
  }
  await eraseTasks(engine, { records, scope: { owner, isWholeOwner, contextIds: [] } });
  await engine.backend.retention.purge();
}

async function isCalledBy(
  { backend }: Engine,
  record: TaskRecord,
  callers: ReadonlySet<string>,
): Promise<boolean> {
  const [first] = (await readStart(backend, record))?.history ?? [];
  return first?.referenceTaskIds?.some((taskId) => callers.has(taskId)) === true;
}

/** The tasks of an owner, listed or not. */
async function tasksOf(
  { backend }: Engine,
  owner: string,
  isMeant: (record: TaskRecord) => boolean,
): Promise<readonly TaskRecord[]> {
  const found: TaskRecord[] = [];
  for (let before: string | undefined; ;) {
    const query = { limit: PAGE, ...(before !== undefined && { before }) };
    const records = await backend.tasks.newest(query);
    found.push(...records.filter((record) => record.owner === owner && isMeant(record)));
    before = records.at(-1)?.taskId;
    if (records.length < PAGE) return found;
  }
}

interface TaskErasure {
  readonly records: readonly TaskRecord[];
  readonly scope: Omit<ErasureScope, "taskIds">;
  readonly eraseMore?: (scope: ErasureScope) => Promise<void>;
}

/**
 * The tasks go last: their files, and what other agents did for them, are found by their ids, also
 * after a crash.
 */
async function eraseTasks(
  engine: Engine,
  { records, scope, eraseMore }: TaskErasure,
): Promise<void> {
  const { closing, files } = engine;
  for (const record of records) await orAborted(endBeforeRemoval(engine, record), closing);
  const taskIds = records.map(({ taskId }) => taskId);
  const contextIds = [
    ...new Set([...scope.contextIds, ...records.map(({ contextId }) => contextId)]),
  ];
  const whole: ErasureScope = { ...scope, contextIds, taskIds };
  for (const agent of engine.agents) await eraseFromAgent(agent, whole);
  await eraseMore?.(whole);
  for (let start = 0; start < taskIds.length; start += BATCH) {
    closing.throwIfAborted();
    const batch = taskIds.slice(start, start + BATCH);
    await files.deleteTasks(batch);
    await removeTasks(engine, { taskIds: batch, freesMessages: true });
  }
  if (scope.isWholeOwner) await engine.backend.retention.forgetOwner(scope.owner);
}

async function eraseFromAgent({ definition }: ServedAgent, scope: ErasureScope): Promise<void> {
  const { grants } = definition;
  if (scope.isWholeOwner && grants !== undefined) {
    const own = (await grants.list()).filter(({ owner }) => owner === scope.owner);
    for (const grant of own) await grants.remove(grant);
  }
  await definition.erase?.(scope);
}
