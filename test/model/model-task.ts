import assert from "node:assert/strict";
import type { AgentEvent } from "@convoke/protocol";
import type { Backend } from "@convoke/engine";
import { type Account, accountOf } from "./reference.ts";

/** A task as the model knows it: a list of events, and what was asked of it. */
export class ModelTask {
  readonly taskId: string;
  /** Someone asked for its end. */
  isCancelAsked = false;
  /** Someone was told that it is canceled. */
  isCanceled = false;
  /** A server that had it died. */
  hasSeenCrash: boolean;
  #log: readonly string[] = [];
  #account: Account | undefined;

  constructor(taskId: string, { hasSeenCrash }: { readonly hasSeenCrash: boolean }) {
    this.taskId = taskId;
    this.hasSeenCrash = hasSeenCrash;
  }

  get events(): readonly AgentEvent[] {
    return this.#log.map((json) => JSON.parse(json) as AgentEvent);
  }

  get head(): number {
    return this.#log.length;
  }

  /** What its log says happened. */
  get account(): Account {
    if (this.#account === undefined) throw new Error("its log was not read yet");
    return this.#account;
  }

  /** Whether its log has the message. */
  has(messageId: string): boolean {
    return this.account.messageIds.includes(messageId);
  }

  /** A log only grows, its numbers run from 1, and what it tells may have happened. */
  async read(backend: Backend): Promise<void> {
    const stored = await backend.read(this.taskId, 0, 100_000);
    assert.deepEqual(
      stored.map(({ seq }) => seq),
      stored.map((_, place) => place + 1),
    );
    const log = stored.map(({ json }) => json);
    assert.deepEqual(log.slice(0, this.#log.length), this.#log, "what was stored has changed");
    this.#log = log;
    this.#account = accountOf(this.events);
  }
}
