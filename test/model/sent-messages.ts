import assert from "node:assert/strict";
import { A2AError, type Caller, type Message, userMessage } from "@convoke/protocol";
import { type AcceptedTask, type Engine, acceptMessage } from "@convoke/engine";
import type { ModelTask } from "./model-task.ts";
import { outcomeOf } from "./outcome.ts";

/** A message that was sent, and what is known of its fate. */
export interface SentMessage {
  readonly message: Message;
  /** The task that has it, once anyone was told. */
  taskId?: string;
  /** Someone was told that it is not taken. */
  isRefused: boolean;
  /** How many were never told anything, because the server died. */
  untold: number;
}

/** Everything that was ever sent, each message perhaps many times. */
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

  /** A new message. Its id is new to the disk, too, which may have seen other stories. */
  write(text: string, taskId?: string): SentMessage {
    const id = `${this.#caller.owner}-m${this.#all.length}`;
    const message = { ...userMessage(id, text), ...(taskId !== undefined && { taskId }) };
    const sent: SentMessage = { message, isRefused: false, untold: 0 };
    this.#all.push(sent);
    return sent;
  }

  /** Sends it some times at once; whether the server took each. One messageId is one task. */
  send(sent: SentMessage, copies = 1): Promise<readonly boolean[]> {
    return Promise.all(Array.from({ length: copies }, () => this.#send(sent)));
  }

  /** Sends it again: it is taken, if it ever was. */
  async sendAgain(sent: SentMessage): Promise<void> {
    const { taskId } = sent;
    const [isTaken] = await this.send(sent);
    if (taskId !== undefined) assert.ok(isTaken, "a retry that is not taken");
  }

  /** Sends other words with its id: they are refused, and the error says what to do. */
  async sendChanged({ message: original, taskId }: SentMessage): Promise<void> {
    if (taskId === undefined) return;
    const message = { ...original, metadata: { changed: true } };
    const outcome = await this.#offer(message);
    assert.ok(A2AError.is(outcome), "other words with the same id were taken");
    assert.equal(outcome.reason, "InvalidParams");
    assert.ok(outcome.message.includes(`task ${taskId}; use a new messageId`), outcome.message);
  }

  /** Each message is in one log at most, and in its own if anyone was told so. */
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
