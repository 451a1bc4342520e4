import assert from "node:assert/strict";
import type { AgentEvent } from "@convoke/protocol";
import type { Backend } from "@convoke/engine";
import { type Account, accountOf } from "./reference.ts";

/** A task in the model: a list of events, and the requests for it. */
export class ModelTask {
  readonly taskId: string;
  /** A caller requested its cancellation. */
  isCancelAsked = false;
  /** A caller received the canceled task. */
  isCanceled = false;
  /** A server died while it had the task. */
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

  /** What happened according to its log. */
  get account(): Account {
    if (this.#account === undefined) throw new Error("its log was not read yet");
    return this.#account;
  }

  /** Whether its log contains the message. */
  has(messageId: string): boolean {
    return this.account.messageIds.includes(messageId);
  }

  /**
   * Asserts that a log only grows, its sequence numbers run from 1, and its events are possible.
   */
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
