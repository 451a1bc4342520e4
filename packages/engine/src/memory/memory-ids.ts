import type { NewTask } from "../log/backend.ts";
import type { TakenMessage } from "../log/check-commit.ts";
import type { MemoryTask } from "./memory-task.ts";

/** The agent of tasks that have no agent id. */
export const NO_AGENT = "";

/** Contexts from which listed tasks were removed. */
export class MemoryContexts {
  readonly #tasks: ReadonlyMap<string, MemoryTask>;
  /** When the last removed task ended. */
  readonly #endedAt = new UsedIds<number>();

  constructor(tasks: ReadonlyMap<string, MemoryTask>) {
    this.#tasks = tasks;
  }

  /** Whether all listed tasks of the context were removed, or all those of one agent. */
  isForgotten({ owner, contextId }: NewTask, ofAgent: string | undefined): boolean {
    if (this.#endedAt.get(owner, contextId, ofAgent) === undefined) return false;
    for (const task of this.#tasks.values()) {
      const isMeant = ofAgent === undefined || task.agentId === ofAgent;
      if (isMeant && task.listed && task.owner === owner && task.contextId === contextId) {
        return false;
      }
    }
    return true;
  }

  /** Records that a listed task was removed. */
  add({ owner, agentId = NO_AGENT, contextId, statusAt }: MemoryTask): void {
    const earlier = this.#endedAt.get(owner, contextId, agentId) ?? statusAt;
    this.#endedAt.set({ owner, agentId, id: contextId }, Math.max(statusAt, earlier));
  }

  /** Forgets contexts whose tasks ended before a time, oldest first. */
  forget(endedBefore: number, limit: number): number {
    return this.#endedAt.forget(limit, {
      isForgettable: (endedAt) => endedAt < endedBefore,
      timeOf: (endedAt) => endedAt,
    });
  }

  forgetOwner(owner: string): void {
    this.#endedAt.forgetOwner(owner, () => true);
  }

  clear(): void {
    this.#endedAt.clear();
  }
}

interface Message extends TakenMessage {
  readonly acceptedAt: number;
}

/** The message ids in use. */
export class MemoryMessages {
  readonly #taken = new UsedIds<Message>();

  find(owner: string, messageId: string, ofAgent: string | undefined): TakenMessage | undefined {
    return this.#taken.get(owner, messageId, ofAgent);
  }

  take({ owner, agentId = NO_AGENT }: MemoryTask, messageId: string, message: Message): void {
    this.#taken.set({ owner, agentId, id: messageId }, message);
  }

  /** Frees ids, oldest first. */
  forget(isForgettable: (message: Message) => boolean, limit: number): number {
    return this.#taken.forget(limit, { isForgettable, timeOf: ({ acceptedAt }) => acceptedAt });
  }

  forgetOwner(owner: string, isForgettable: (message: Message) => boolean): void {
    this.#taken.forgetOwner(owner, isForgettable);
  }

  clear(): void {
    this.#taken.clear();
  }
}

interface UsedId {
  readonly owner: string;
  readonly agentId: string;
  readonly id: string;
}

/** A value of an id for one agent. */
interface Used<Value> {
  readonly agentId: string;
  value: Value;
}

/** Ids of messages or contexts by owner and agent, each with a value. They outlive their tasks. */
class UsedIds<Value> {
  /** By owner, then by id. A list, because hardly any id is used by more than one agent. */
  readonly #byOwner = new Map<string, Map<string, Used<Value>[]>>();

  /** The value of an id for one agent, or for any. */
  get(owner: string, id: string, ofAgent: string | undefined): Value | undefined {
    const used = this.#byOwner.get(owner)?.get(id);
    return used?.find(({ agentId }) => ofAgent === undefined || agentId === ofAgent)?.value;
  }

  set({ owner, agentId, id }: UsedId, value: Value): void {
    const ids = this.#byOwner.get(owner) ?? new Map<string, Used<Value>[]>();
    this.#byOwner.set(owner, ids);
    const used = ids.get(id);
    const known = used?.find((one) => one.agentId === agentId);
    if (known !== undefined) known.value = value;
    else if (used !== undefined) used.push({ agentId, value });
    else ids.set(id, [{ agentId, value }]);
  }

  /** Removes matching ids of an owner. */
  forgetOwner(owner: string, isForgettable: (value: Value) => boolean): void {
    for (const [id, used] of this.#byOwner.get(owner) ?? []) {
      const kept = used.filter(({ value }) => !isForgettable(value));
      this.#keep(owner, id, kept);
    }
  }

  /** Removes matching ids, oldest first. Returns how many were removed. */
  forget(
    limit: number,
    rule: {
      readonly isForgettable: (value: Value) => boolean;
      readonly timeOf: (value: Value) => number;
    },
  ): number {
    const forgotten = [...this.#all()]
      .filter(({ one: { value } }) => rule.isForgettable(value))
      .toSorted((left, right) => rule.timeOf(left.one.value) - rule.timeOf(right.one.value))
      .slice(0, limit);
    for (const { owner, id, one } of forgotten) {
      const used = this.#byOwner.get(owner)?.get(id) ?? [];
      this.#keep(
        owner,
        id,
        used.filter((other) => other !== one),
      );
    }
    return forgotten.length;
  }

  *#all(): Generator<{ readonly owner: string; readonly id: string; readonly one: Used<Value> }> {
    for (const [owner, ids] of this.#byOwner) {
      for (const [id, used] of ids) for (const one of used) yield { owner, id, one };
    }
  }

  #keep(owner: string, id: string, kept: Used<Value>[]): void {
    const ids = this.#byOwner.get(owner);
    if (kept.length > 0) ids?.set(id, kept);
    else ids?.delete(id);
    if (ids?.size === 0) this.#byOwner.delete(owner);
  }

  clear(): void {
    this.#byOwner.clear();
  }
}
