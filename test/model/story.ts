import assert from "node:assert/strict";
import {
  A2AError,
  type AgentEvent,
  type Caller,
  type Message,
  type Task,
  isInterrupted,
  isTerminal,
} from "@convoke/protocol";
import { cancelTask, sendMessage } from "@convoke/engine";
import type { Disk } from "./a-disk.ts";
import { Follower } from "./a-follower.ts";
import { type Death, Process } from "./a-process.ts";
import { checkTask } from "./check-task.ts";
import type { Batch, Command, Setting } from "./commands.ts";
import { foldOf } from "./fold.ts";
import { ModelTask } from "./model-task.ts";
import { outcomeOf } from "./outcome.ts";
import { HOUR_MS, type Program } from "./program.ts";
import { type SentMessage, SentMessages } from "./sent-messages.ts";

/** A pending call. */
interface Pending {
  readonly command: Command;
  isDone: boolean;
  error?: unknown;
}

/** A caller that waits for the end of a task, or for a question. */
interface Waiter {
  readonly messageId: string;
  answer?: unknown;
}

/** A task as a caller saw it at one moment. */
interface Sighting {
  readonly taskId: string;
  readonly head: number;
  readonly task: Task;
}

/**
 * A server on a disk, its callers, and a simple model of what must be true: a list of events for
 * each task, and every response.
 */
export class Story {
  readonly #disk: Disk;
  readonly #setting: Setting;
  readonly #caller: Caller;
  readonly #tasks: ModelTask[] = [];
  readonly #messages: SentMessages;
  readonly #effects: string[] = [];
  readonly #followers: Follower[] = [];
  #waiters: Waiter[] = [];
  #sightings: Sighting[] = [];
  #now = Date.UTC(2030, 0);
  #process: Process;

  constructor(disk: Disk, setting: Setting, name: string) {
    this.#disk = disk;
    this.#setting = setting;
    this.#caller = { owner: name };
    this.#messages = new SentMessages(this.#caller, () => this.#process.engine);
    this.#process = this.#start();
  }

  /**
   * Gives the commands of a batch at once, waits until the server is idle, and checks everything.
   */
  async perform(batch: Batch): Promise<void> {
    const pending = batch.map(({ command, delay }) => this.#begin(command, delay, batch));
    await this.#process.quiet();
    // A wakeAt that has passed in the meantime waits for a timer; this is that timer.
    void this.#process.engine.wakeTimer.start();
    await this.#process.quiet();
    for (const { error } of pending) if (error !== undefined) throw error;
    const hasCrashed = this.#process.isDoomed;
    if (hasCrashed) {
      const crash = batch.find(({ command }) => command.kind === "crash")?.command;
      await this.#restart(crash?.kind === "crash" ? crash.again : undefined);
    } else {
      const hanging = pending.filter(({ isDone }) => !isDone).map(({ command }) => command);
      assert.deepEqual(hanging, [], "no caller is left waiting");
    }
    await this.#readAll(hasCrashed);
    await this.#check();
  }

  /** Brings every task to its end: answers questions, wakes sleepers, cancels the rest. */
  async finish(): Promise<void> {
    for (let round = 0; round < 40; round++) {
      const open = this.#tasks.filter(({ account }) => !isTerminal(account.state));
      if (open.length === 0) break;
      const last = (task: ModelTask): Command => this.#lastWord(task);
      await this.perform(open.map((task) => ({ command: last(task), delay: 0 })));
    }
    const states = this.#tasks.map(({ account }) => account.state);
    assert.ok(states.every(isTerminal), `not ended: ${states.join()}`);
  }

  close(): void {
    for (const follower of this.#followers) follower.leave();
    this.#process.die();
  }

  #lastWord(task: ModelTask): Command {
    const { standing } = task.account;
    if (standing === "sleeping") return { kind: "advance", hours: 1 };
    const number = this.#tasks.indexOf(task);
    return standing === "working"
      ? { kind: "cancel", task: number }
      : { kind: "answer", task: number, program: "", copies: 1 };
  }

  #start(): Process {
    const { takesMessages, restart, sideEffects, inputTimeout, timeoutHours } = this.#setting;
    return new Process({
      disk: this.#disk,
      now: () => this.#now,
      definition: {
        takesMessages,
        restart,
        sideEffects,
        ...(inputTimeout && { inputTimeout: { ms: HOUR_MS, onTimeout: inputTimeout } }),
        ...(timeoutHours !== undefined && { timeoutMs: timeoutHours * HOUR_MS }),
      },
      maxParkedRuns: this.#setting.maxParkedRuns,
      delays: this.#setting.delays,
      effects: this.#effects,
    });
  }

  async #restart(again: Death | undefined): Promise<void> {
    for (const follower of this.#followers) follower.cut();
    for (const task of this.#tasks) task.hasSeenCrash = true;
    this.#waiters = [];
    this.#process.die();
    await this.#process.quiet();
    await this.#disk.reopen();
    this.#process = this.#start();
    if (again !== undefined) this.#process.willDie(again);
    await Promise.race([this.#process.recover(), this.#process.dead]);
    await this.#process.quiet();
    if (this.#process.isOver) return this.#restart(undefined);
    this.#process.live();
    const { engine } = this.#process;
    await Promise.all(this.#followers.map((follower) => follower.attach(engine)));
    await this.#process.quiet();
  }

  #begin(command: Command, delay: number, batch: Batch): Pending {
    const pending: Pending = { command, isDone: false };
    const isAlone = batch.every(
      ({ command: other }) => other === command || !this.#mayDisturb(other, command),
    );
    const server = this.#process;
    void (async () => {
      for (let turn = 0; turn < delay; turn++) await new Promise((done) => setImmediate(done));
      // A server that is gone cannot be called, and the next one responds when it has recovered.
      if (!server.isOver) await this.#do(command, isAlone);
    })().then(
      () => {
        pending.isDone = true;
      },
      (error: unknown) => {
        pending.error = error;
      },
    );
    return pending;
  }

  async #do(command: Command, isAlone: boolean): Promise<void> {
    const { engine } = this.#process;
    switch (command.kind) {
      case "send": {
        const taken = await this.#messages.send(this.#write(command.program), command.copies);
        return assert.ok(taken.every(Boolean), "a message that is not accepted");
      }
      case "send and wait": {
        const { message } = this.#write(command.program);
        for (let copy = 0; copy < command.copies; copy++) this.#wait(message);
        return;
      }
      case "retry": {
        const sent = pick(this.#messages.all, command.message);
        if (sent === undefined) return;
        return command.changed ? this.#messages.sendChanged(sent) : this.#messages.sendAgain(sent);
      }
      case "answer": {
        const task = pick(this.#tasks, command.task);
        if (task === undefined) return;
        const isAsked = isAlone && isInterrupted(task.account.state);
        const sent = this.#write(command.program, task.taskId);
        const taken = await this.#messages.send(sent, command.copies);
        return assert.ok(!isAsked || taken.every(Boolean), "an answer that is not accepted");
      }
      case "cancel": {
        const task = pick(this.#tasks, command.task);
        if (task === undefined) return;
        task.isCancelAsked = true;
        const outcome = await outcomeOf(cancelTask(engine, task.taskId, this.#caller));
        if (A2AError.is(outcome)) return assert.equal(outcome.reason, "TaskNotCancelable");
        task.isCanceled = true;
        return assert.equal(outcome.status.state, "canceled");
      }
      case "advance":
        this.#now += command.hours * HOUR_MS;
        return engine.wakeTimer.start();
      case "get": {
        const task = pick(this.#tasks, command.task);
        if (task === undefined) return;
        const { taskId } = task;
        const seen = await engine.tasks.find(taskId, this.#caller);
        this.#sightings.push({ taskId, ...seen });
        return;
      }
      case "follow": {
        const task = pick(this.#tasks, command.task);
        if (task === undefined) return;
        const { after, version } = command;
        const follower = new Follower({
          taskId: task.taskId,
          caller: this.#caller,
          version,
          after: after === undefined ? undefined : after % (task.head + 1),
        });
        this.#followers.push(follower);
        return follower.attach(engine);
      }
      case "leave":
        pick(this.#followers, command.follower)?.leave();
        return;
      case "crash":
        this.#process.willDie(command.death);
        return;
      default:
        return command satisfies never;
    }
  }

  #write(program: Program, taskId?: string): SentMessage {
    // A turn that ended with its question cannot continue without an answer.
    const text = this.#setting.inputTimeout === "continue" ? program.replaceAll("q", "") : program;
    return this.#messages.write(text, taskId);
  }

  #wait(message: Message): void {
    const { engine } = this.#process;
    const waiter: Waiter = { messageId: message.messageId };
    this.#waiters.push(waiter);
    const call = {
      engine,
      agent: engine.agents.first,
      caller: this.#caller,
      version: "1.0",
      trace: undefined,
    } as const;
    const answered = sendMessage({ message, blocking: true }, { ...call, lastEventId: undefined });
    void answered
      .catch((error: unknown) => error)
      .then((answer) => {
        waiter.answer = answer;
      });
  }

  /** Whether one command may change the result of another. */
  #mayDisturb(other: Command, command: Command): boolean {
    if (["crash", "advance", "retry"].includes(other.kind)) return true;
    if (other.kind !== "answer" && other.kind !== "cancel") return false;
    return (
      command.kind !== "answer" || pick(this.#tasks, other.task) === pick(this.#tasks, command.task)
    );
  }

  /** Reads all logs; tasks that were unknown so far were created by the last operations. */
  async #readAll(hasSeenCrash: boolean): Promise<void> {
    const { backend } = this.#disk;
    const { records } = await backend.tasks.list({ owner: this.#caller.owner, limit: 1000 });
    for (const { taskId } of records.toReversed()) {
      if (this.#tasks.some((task) => task.taskId === taskId)) continue;
      this.#tasks.push(new ModelTask(taskId, { hasSeenCrash }));
    }
    assert.equal(records.length, this.#tasks.length);
    for (const task of this.#tasks) await task.read(backend);
  }

  async #check(): Promise<void> {
    const { engine, working } = this.#process;
    for (const model of this.#tasks) {
      const { taskId, account, isCancelAsked, isCanceled, hasSeenCrash } = model;
      const { task, head } = await engine.tasks.find(taskId, this.#caller);
      assert.equal(head, model.head);
      assert.deepEqual(task, foldOf(model.events), "GetTask matches the log");
      checkTask({
        task,
        record: (await this.#disk.backend.tasks.get(taskId))!,
        account,
        setting: this.#setting,
        now: this.#now,
        isCancelAsked,
        isCanceled,
        hasSeenCrash,
        runs: working.filter((id) => id === taskId).length,
      });
    }
    this.#messages.check(this.#tasks);
    this.#checkEffects();
    this.#checkWaiters();
    for (const { taskId, head, task } of this.#sightings.splice(0)) {
      assert.deepEqual(task, foldOf(this.#eventsOf(taskId).slice(0, head)), "what was seen");
    }
    for (const follower of this.#followers) follower.check(this.#eventsOf(follower.taskId));
  }

  #eventsOf(taskId: string): readonly AgentEvent[] {
    return this.#tasks.find((task) => task.taskId === taskId)?.events ?? [];
  }

  /** Asserts that the body of a step ran at most once, and once if its result is known. */
  #checkEffects(): void {
    assert.equal(new Set(this.#effects).size, this.#effects.length, "a step ran twice");
    for (const { taskId, account } of this.#tasks) {
      const ran = this.#effects.filter((key) => key.startsWith(taskId)).length;
      assert.ok(ran >= account.stepsKnown, "a step that never ran has a result");
    }
  }

  /** A waiting caller gets its response as soon as the task has ended, or asks. */
  #checkWaiters(): void {
    for (const { messageId, answer } of this.#waiters) {
      const task = this.#tasks.find((each) => each.has(messageId));
      assert.ok(task !== undefined);
      const { state } = task.account;
      if (answer !== undefined) assert.equal((answer as Partial<Task>).id, task.taskId);
      else assert.ok(!isTerminal(state) && !isInterrupted(state), "a caller is left waiting");
    }
  }
}

function pick<T>(from: readonly T[], number: number): T | undefined {
  return from[number % Math.max(1, from.length)];
}
