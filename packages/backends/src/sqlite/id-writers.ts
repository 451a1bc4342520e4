import { hash } from "node:crypto";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { AcceptedMessage, TakenMessage } from "@convoke/engine";
import { messageKey } from "../postgres/message-key.ts";

const CONTEXT = "owner = :owner AND context = :context";

export const FORGOTTEN = `
  SELECT 1 FROM expired_contexts WHERE ${CONTEXT}
    AND NOT EXISTS (SELECT 1 FROM tasks WHERE ${CONTEXT} AND listed = 1)`;

/** The same among the tasks of one agent. */
export const FORGOTTEN_BY_AGENT = `
  SELECT 1 FROM expired_contexts WHERE ${CONTEXT} AND agent_id = :agentId
    AND NOT EXISTS (SELECT 1 FROM tasks INDEXED BY tasks_in_context
      WHERE ${CONTEXT} AND listed = 1 AND agent_id = :agentId)`;

export const FORGET_CONTEXTS = `
  DELETE FROM expired_contexts WHERE (owner, context, agent_id) IN
    (SELECT owner, context, agent_id FROM expired_contexts WHERE at < ? ORDER BY at LIMIT ?)`;

/** The agent of tasks that have no agent id. */
const NO_AGENT = "";

/** The task that accepts a message. */
interface AcceptingTask {
  readonly owner: string;
  readonly agentId: string | null;
}

/** Its row. */
interface TaskRow {
  readonly n: number;
  readonly taskId: string;
}

/** Whose ids are looked up. */
export interface IdScope {
  readonly owner: string;
  /** Only those of tasks of this agent, or of tasks without one if it is `null`. Default: all. */
  readonly agentId?: string | null;
}

/** A message id that is in use and not yet written. */
interface ClaimedMessage extends TakenMessage {
  readonly agentId: string | null;
}

/** The message ids in use. */
export class MessageWriter {
  /** The ids that are not yet written, by owner and id. */
  #claimed = new Map<string, ClaimedMessage[]>();
  /** The ids that came from another store; `undefined` if there are none, as in most stores. */
  readonly #moved: MovedMessages | undefined;
  readonly #find: StatementSync;
  readonly #findOfAgent: StatementSync;
  readonly #insert: StatementSync;
  readonly #orphan: StatementSync;
  readonly #free: StatementSync;
  readonly #forget: StatementSync;
  readonly #forgetOwner: StatementSync;

  constructor(db: DatabaseSync) {
    this.#moved = MovedMessages.in(db);
    const find =
      "SELECT task_id AS taskId, digest FROM messages WHERE hash = ? AND owner = ? AND message_id = ?";
    this.#find = db.prepare(find);
    this.#findOfAgent = db.prepare(`${find} AND agent_id = ?`);
    this.#insert = db.prepare(
      "INSERT INTO messages (hash, owner, agent_id, message_id, task_id, digest, at, task) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    );
    this.#orphan = db.prepare("UPDATE messages SET task = NULL WHERE task = ?");
    this.#free = db.prepare("DELETE FROM messages WHERE task = ?");
    this.#forget = db.prepare(`
      DELETE FROM messages WHERE rowid IN
        (SELECT rowid FROM messages WHERE task IS NULL AND at < ? ORDER BY at LIMIT ?)`);
    this.#forgetOwner = db.prepare(
      "DELETE FROM messages INDEXED BY messages_of_gone WHERE task IS NULL AND owner = ?",
    );
  }

  /** @param ownAgent that of the task, also if ids of all agents are looked up */
  find(
    { owner, agentId }: IdScope,
    messageId: string,
    ownAgent: string | null,
  ): TakenMessage | undefined {
    const claimed = this.#claimed
      .get(claimKey(owner, messageId))
      ?.find((claim) => agentId === undefined || claim.agentId === agentId);
    if (claimed !== undefined) return { taskId: claimed.taskId, digest: claimed.digest };
    const id = [hashId(owner, messageId), owner, messageId] as const;
    const row =
      agentId === undefined
        ? this.#find.get(...id)
        : this.#findOfAgent.get(...id, agentId ?? NO_AGENT);
    return (
      (row as TakenMessage | undefined) ??
      this.#moved?.find({ owner, agentId: ownAgent }, messageId)
    );
  }

  /** From now on the id is in use. It is written by `take`. */
  claim({ owner, agentId }: AcceptingTask, taskId: string, message: AcceptedMessage): void {
    const { messageId, digest } = message;
    const key = claimKey(owner, messageId);
    const claims = this.#claimed.get(key) ?? [];
    claims.push({ taskId, digest, agentId });
    this.#claimed.set(key, claims);
  }

  /** @param message with the time at which it was accepted */
  take(
    { owner, agentId }: AcceptingTask,
    { n, taskId }: TaskRow,
    { messageId, digest, at }: AcceptedMessage & { readonly at: number },
  ): void {
    const hashed = hashId(owner, messageId);
    const agent = agentId ?? NO_AGENT;
    this.#insert.run(hashed, owner, agent, messageId, taskId, digest, at, n);
  }

  /** All claimed ids were written, or are not in use after all. */
  flushed(): void {
    if (this.#claimed.size > 0) this.#claimed = new Map();
  }

  /** Keeps the message ids of a removed task, which can be freed from now on. */
  orphan(task: number): void {
    this.#orphan.run(task);
    this.#moved?.orphan(task);
  }

  /** Frees the message ids of a task that is about to be removed. */
  free(task: number): void {
    this.#free.run(task);
    this.#moved?.free(task);
  }

  forget(acceptedBefore: number, limit: number): number {
    const forgotten = Number(this.#forget.run(acceptedBefore, limit).changes);
    return forgotten + (this.#moved?.forget(acceptedBefore, limit - forgotten) ?? 0);
  }

  /** Frees the ids of an owner whose tasks were removed. */
  forgetOwner(owner: string): void {
    this.#forgetOwner.run(owner);
  }
}

/** Message ids that came from another store. They are hashes, which name no owner. */
class MovedMessages {
  readonly #find: StatementSync;
  readonly #orphan: StatementSync;
  readonly #free: StatementSync;
  readonly #forget: StatementSync;

  static in(db: DatabaseSync): MovedMessages | undefined {
    const some = db.prepare("SELECT 1 FROM message_keys LIMIT 1").get();
    return some === undefined ? undefined : new MovedMessages(db);
  }

  private constructor(db: DatabaseSync) {
    this.#find = db.prepare("SELECT task_id AS taskId, digest FROM message_keys WHERE key = ?");
    this.#orphan = db.prepare("UPDATE message_keys SET task = NULL WHERE task = ?");
    this.#free = db.prepare("DELETE FROM message_keys WHERE task = ?");
    this.#forget = db.prepare(`
      DELETE FROM message_keys WHERE key IN
        (SELECT key FROM message_keys WHERE task IS NULL AND at < ? ORDER BY at LIMIT ?)`);
  }

  find(scope: Required<IdScope>, messageId: string): TakenMessage | undefined {
    const row = this.#find.get(messageKey(scope, { messageId }));
    return row as TakenMessage | undefined;
  }

  orphan(task: number): void {
    this.#orphan.run(task);
  }

  free(task: number): void {
    this.#free.run(task);
  }

  forget(acceptedBefore: number, limit: number): number {
    return Number(this.#forget.run(acceptedBefore, limit).changes);
  }
}

function claimKey(owner: string, messageId: string): string {
  return `${owner}\n${messageId}`;
}

/**
 * 48 bits, which JavaScript can represent exactly. A cryptographic hash, so that
 * clients cannot choose ids that collide.
 */
function hashId(owner: string, messageId: string): number {
  return Number.parseInt(hash("sha256", `${owner}\n${messageId}`, "hex").slice(0, 12), 16);
}

interface PrunedTask {
  readonly owner: string;
  readonly agentId: string | null;
  readonly context: string;
  readonly endedAt: number;
}

/** Contexts from which listed tasks were removed. */
export class ContextWriter {
  readonly #find: StatementSync;
  readonly #findOfAgent: StatementSync;
  readonly #put: StatementSync;
  readonly #forget: StatementSync;
  readonly #forgetOwner: StatementSync;

  constructor(db: DatabaseSync) {
    this.#find = db.prepare(FORGOTTEN);
    this.#findOfAgent = db.prepare(FORGOTTEN_BY_AGENT);
    this.#put = db.prepare(`
      INSERT INTO expired_contexts (owner, context, agent_id, at) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET at = max(at, excluded.at)`);
    this.#forget = db.prepare(FORGET_CONTEXTS);
    this.#forgetOwner = db.prepare("DELETE FROM expired_contexts WHERE owner = ?");
  }

  isForgotten({ owner, agentId }: IdScope, context: string): boolean {
    const row =
      agentId === undefined
        ? this.#find.get({ owner, context })
        : this.#findOfAgent.get({ owner, context, agentId: agentId ?? NO_AGENT });
    return row !== undefined;
  }

  /** Records that a listed task was removed. Whether others are left is checked on demand. */
  add({ owner, agentId, context, endedAt }: PrunedTask): void {
    this.#put.run(owner, context, agentId ?? NO_AGENT, endedAt);
  }

  forget(endedBefore: number, limit: number): number {
    return Number(this.#forget.run(endedBefore, limit).changes);
  }

  forgetOwner(owner: string): void {
    this.#forgetOwner.run(owner);
  }
}
