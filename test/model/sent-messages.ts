import assert from "node:assert/strict";
import { A2AError, type Caller, type Message, userMessage } from "@convoke/protocol";
import { type AcceptedTask, type Engine, acceptMessage } from "@convoke/engine";
import type { ModelTask } from "./model-task.ts";
import { outcomeOf } from "./outcome.ts";

/** A message that was sent, and what is known about it. */
export interface SentMessage {
  readonly message: Message;
  /** The task that has it, once a caller received it. */
  taskId?: string;
  /** A caller received its rejection. */
  isRefused: boolean;
  /** How many senders got no response, because the server died. */
  untold: number;
}

/** All messages that were sent, each possibly many times. */
export class SentMessages {
  readonly #caller: Caller;
  readonly #engine: () => Engine;
  readonly #all: SentMessage[] = [];

  constructor(caller: Caller, engine: () => Engine) {
    this.#caller = caller;
    this.#engine = engine;
  }

  get all(): readonly SentMessage[] {
    return this.#all;
  }

  /** A new message. Its id is new on the disk, too, which may contain other runs. */
  write(text: string, taskId?: string): SentMessage {
    const id = `${this.#caller.owner}-m${this.#all.length}`;
    const message = { ...userMessage(id, text), ...(taskId !== undefined && { taskId }) };
    const sent: SentMessage = { message, isRefused: false, untold: 0 };
    this.#all.push(sent);
    return sent;
  }

  /**
   * Sends it several times at once; returns whether the server accepted each. One messageId is one
   * task.
   */
  send(sent: SentMessage, copies = 1): Promise<readonly boolean[]> {
    return Promise.all(Array.from({ length: copies }, () => this.#send(sent)));
  }

  /** Sends it again: it is accepted if it ever was. */
  async sendAgain(sent: SentMessage): Promise<void> {
    const { taskId } = sent;
    const [isTaken] = await this.send(sent);
    if (taskId !== undefined) assert.ok(isTaken, "a retry that is not taken");
  }

  /** Sends different content with its id: it is rejected, and the error says what to do. */
  async sendChanged({ message: original, taskId }: SentMessage): Promise<void> {
    if (taskId === undefined) return;
    const message = { ...original, metadata: { changed: true } };
    const outcome = await this.#offer(message);
    assert.ok(A2AError.is(outcome), "other words with the same id were taken");
    assert.equal(outcome.reason, "InvalidParams");
    assert.ok(outcome.message.includes(`task ${taskId}; use a new messageId`), outcome.message);
  }

  /** Asserts that each message is in at most one log, and in its own if a caller received it. */
  check(tasks: readonly ModelTask[]): void {
    const logged = tasks.flatMap(({ account }) => account.messageIds);
    assert.equal(new Set(logged).size, logged.length, "a message in two tasks");
    for (const { message, taskId, isRefused, untold } of this.#all) {
      const task = tasks.find((each) => each.has(message.messageId));
      if (taskId !== undefined) assert.equal(task?.taskId, taskId, "an accepted message is lost");
      else if (isRefused && untold === 0) assert.equal(task, undefined, "it was refused and taken");
    }
  }

  async #send(sent: SentMessage): Promise<boolean> {
    sent.untold++;
    const outcome = await this.#offer(sent.message);
    sent.untold--;
    if (A2AError.is(outcome)) {
      assert.equal(outcome.reason, "UnsupportedOperation", outcome.message);
      sent.isRefused = true;
      return false;
    }
    const { taskId } = outcome.live.writer;
    assert.equal(taskId, sent.taskId ?? sent.message.taskId ?? taskId);
    sent.taskId = taskId;
    return true;
  }

  #offer(message: Message): Promise<AcceptedTask | A2AError> {
    return outcomeOf(acceptMessage(this.#engine(), { message, caller: this.#caller }));
  }
}
