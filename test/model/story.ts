import assert from "node:assert/strict";
import {
  A2AError,
  type AgentEvent,
  type Caller,
  type Message,
  type Task,
  isInterrupted,
  isTerminal,
  userMessage,
} from "@convoke/protocol";
import { acceptMessage, cancelTask, sendMessage } from "@convoke/server/engine";
import type { Disk } from "./a-disk.ts";
import { Follower } from "./a-follower.ts";
import { type Death, Process } from "./a-process.ts";
import { checkTask } from "./check-task.ts";
import type { Batch, Command, Setting } from "./commands.ts";
import { foldOf } from "./fold.ts";
import { HOUR_MS, type Program } from "./program.ts";
import { type Account, accountOf } from "./reference.ts";

/** A task as the model knows it: its events, and what was asked of it. */
interface ModelTask {
  readonly taskId: string;
  log: readonly string[];
  account: Account;
  isCancelAsked: boolean;
  isCanceled: boolean;
  hasSeenCrash: boolean;
}

/** A message that was sent, and what is known of its fate. */
interface SentMessage {
  readonly message: Message;
  /** The task that has it, once anyone was told. */
  taskId?: string;
  /** Someone was told that it is not taken. */
  isRefused: boolean;
  /** How many were never told anything, because the server died. */
  untold: number;
}

/** Something that someone waits for. */
interface Pending {
  readonly command: Command;
  isDone: boolean;
  error?: unknown;
}

/** A caller who waits for the end of a task, or for a question. */
interface Waiter {
  readonly messageId: string;
  answer?: unknown;
}

/** A task as someone saw it at one moment. */
interface Sighting {
  readonly taskId: string;
  readonly head: number;
  readonly task: Task;
}

/**
 * A server on a disk, the people who use it, and a plain model of what must be
 * so: a list of events for each task, and who was told what.
 */
export class Story {
  readonly #disk: Disk;
  readonly #setting: Setting;
  readonly #caller: Caller;
  readonly #name: string;
  readonly #tasks: ModelTask[] = [];
  readonly #messages: SentMessage[] = [];
  readonly #effects: string[] = [];
  readonly #followers: Follower[] = [];
  #waiters: Waiter[] = [];
  #sightings: Sighting[] = [];
  #now = Date.UTC(2030, 0);
  #process: Process;

  constructor(disk: Disk, setting: Setting, name: string) {
    this.#disk = disk;
    this.#setting = setting;
    this.#name = name;
    this.#caller = { owner: name };
    this.#process = this.#start();
  }

  /** Gives the commands of a batch at once, waits until nothing more happens, and checks everything. */
  async perform(batch: Batch): Promise<void> {
    const pending = batch.map(({ command, delay }) => this.#begin(command, delay, batch));
    await this.#process.quiet();
    // A wish for a moment that has passed meanwhile waits for a timer; this is that timer.
    void this.#process.engine.alarm.start();
    await this.#process.quiet();
    for (const { error } of pending) if (error !== undefined) throw error;
    if (this.#process.isDoomed) {
      const crash = batch.find(({ command }) => command.kind === "crash")?.command;
      await this.#restart(crash?.kind === "crash" ? crash.again : undefined);
    } else {
      const hanging = pending.filter(({ isDone }) => !isDone).map(({ command }) => command);
      assert.deepEqual(hanging, [], "nobody waits in vain");
    }
    await this.#check();
  }

  /** Brings every task to its end: answers what is asked, wakes what sleeps, stops what goes on. */
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
    const { takesMessages, restart, inputTimeout, timeoutHours } = this.#setting;
    return new Process({
      disk: this.#disk,
      now: () => this.#now,
      definition: {
        takesMessages,
        restart,
        ...(inputTimeout && { inputTimeout: { ms: HOUR_MS, afterwards: inputTimeout } }),
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
    const isAlone = !batch.some(
      ({ command: other }) => other !== command && disturbs(other, command),
    );
    const server = this.#process;
    void (async () => {
      for (let turn = 0; turn < delay; turn++) await new Promise((done) => setImmediate(done));
      // Nobody can ask a server that is gone, and the next one answers when it has recovered.
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
        const sent = this.#write(command.program);
        const all = Array.from({ length: command.copies }, () => this.#accept(sent));
        return assert.ok((await Promise.all(all)).every(Boolean), "a message that is not taken");
      }
      case "send and wait": {
        const sent = this.#write(command.program);
        for (let copy = 0; copy < command.copies; copy++) this.#wait(sent);
        return;
      }
      case "retry":
        return this.#retry(command);
      case "answer": {
        const task = pick(this.#tasks, command.task);
        if (task === undefined) return;
        const asks = isAlone && isInterrupted(task.account.state);
        const sent = this.#write(command.program, task.taskId);
        const all = Array.from({ length: command.copies }, () => this.#accept(sent));
        const taken = await Promise.all(all);
        if (asks) assert.ok(taken.every(Boolean), "an answer that is not taken");
        return;
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
        return engine.alarm.start();
      case "get": {
        const task = pick(this.#tasks, command.task);
        if (task === undefined) return;
        const { taskId } = task;
        const seen = await engine.find(taskId, this.#caller);
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
          after: after === undefined ? undefined : after % (task.log.length + 1),
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
    const id = `${this.#name}-m${this.#messages.length}`;
    // A turn that ended with its question has nothing to go on with when nobody answers.
    const text = this.#setting.inputTimeout === "continue" ? program.replaceAll("q", "") : program;
    const message = { ...userMessage(id, text), ...(taskId !== undefined && { taskId }) };
    const sent: SentMessage = { message, isRefused: false, untold: 0 };
    this.#messages.push(sent);
    return sent;
  }

  /** Whether the server took it. One messageId is one task, whoever asks and how often. */
  async #accept(sent: SentMessage): Promise<boolean> {
    const { engine } = this.#process;
    const { message } = sent;
    sent.untold++;
    const outcome = await outcomeOf(acceptMessage(engine, { message, caller: this.#caller }));
    sent.untold--;
    if (A2AError.is(outcome)) {
      assert.equal(outcome.reason, "UnsupportedOperation", outcome.message);
      sent.isRefused = true;
      return false;
    }
    const { taskId } = outcome.live.writer;
    assert.equal(taskId, sent.taskId ?? message.taskId ?? taskId);
    sent.taskId = taskId;
    return true;
  }

  #wait({ message }: SentMessage): void {
    const { engine } = this.#process;
    const waiter: Waiter = { messageId: message.messageId };
    this.#waiters.push(waiter);
    const call = { engine, caller: this.#caller, version: "1.0", trace: undefined } as const;
    const answered = sendMessage({ message, blocking: true }, { ...call, lastEventId: undefined });
    void answered
      .catch((error: unknown) => error)
      .then((answer) => {
        waiter.answer = answer;
      });
  }

  async #retry({ message: number, changed }: Extract<Command, { kind: "retry" }>): Promise<void> {
    const sent = pick(this.#messages, number);
    if (sent === undefined) return;
    const { taskId } = sent;
    if (!changed) {
      const isTaken = await this.#accept(sent);
      if (taskId !== undefined) assert.ok(isTaken, "a retry that is not taken");
      return;
    }
    if (taskId === undefined) return;
    const message = { ...sent.message, metadata: { changed: true } };
    const { engine } = this.#process;
    const outcome = await outcomeOf(acceptMessage(engine, { message, caller: this.#caller }));
    assert.ok(A2AError.is(outcome), "other words with the same id were taken");
    assert.equal(outcome.reason, "InvalidParams");
    assert.ok(outcome.message.includes(taskId) && outcome.message.includes("use a new messageId"));
  }

  async #check(): Promise<void> {
    const { backend } = this.#disk;
    const { records } = await backend.tasks.list({ owner: this.#caller.owner, limit: 1000 });
    for (const { taskId } of records.toReversed()) await this.#read(taskId);
    assert.equal(records.length, this.#tasks.length);
    const { engine, working } = this.#process;
    for (const task of this.#tasks) {
      const { taskId, account, isCancelAsked, isCanceled, hasSeenCrash } = task;
      const log = this.#eventsOf(taskId);
      const found = await engine.find(taskId, this.#caller);
      assert.equal(found.head, log.length);
      assert.deepEqual(found.task, foldOf(log), "GetTask is the fold of the log");
      const record = (await backend.tasks.get(taskId))!;
      checkTask({
        task: found.task,
        record,
        account,
        setting: this.#setting,
        now: this.#now,
        isCancelAsked,
        isCanceled,
        hasSeenCrash,
        runs: working.filter((id) => id === taskId).length,
      });
    }
    this.#checkMessages();
    this.#checkEffects();
    this.#checkWaiters();
    for (const { taskId, head, task } of this.#sightings.splice(0)) {
      assert.deepEqual(task, foldOf(this.#eventsOf(taskId).slice(0, head)), "what was seen");
    }
    for (const follower of this.#followers) follower.check(this.#eventsOf(follower.taskId));
  }

  /** A log only grows, its numbers run from 1, and what it tells may have happened. */
  async #read(taskId: string): Promise<void> {
    const stored = await this.#disk.backend.read(taskId, 0, 100_000);
    assert.deepEqual(
      stored.map(({ seq }) => seq),
      stored.map((_, place) => place + 1),
    );
    const log = stored.map(({ json }) => json);
    const account = accountOf(log.map((json) => JSON.parse(json) as AgentEvent));
    const known = this.#tasks.find((task) => task.taskId === taskId);
    if (known === undefined) {
      const facts = { isCancelAsked: false, isCanceled: false, hasSeenCrash: true };
      this.#tasks.push({ taskId, log, account, ...facts });
      return;
    }
    assert.deepEqual(log.slice(0, known.log.length), known.log);
    known.log = log;
    known.account = account;
  }

  #eventsOf(taskId: string): readonly AgentEvent[] {
    const task = this.#tasks.find((each) => each.taskId === taskId);
    return (task?.log ?? []).map((json) => JSON.parse(json) as AgentEvent);
  }

  /** Each message is in one log at most, and in its own if anyone was told so. */
  #checkMessages(): void {
    const logged = this.#tasks.flatMap(({ account }) => account.messageIds);
    assert.equal(new Set(logged).size, logged.length, "a message in two tasks");
    for (const { message, taskId, isRefused, untold } of this.#messages) {
      const task = this.#tasks.find(({ account }) =>
        account.messageIds.includes(message.messageId),
      );
      if (taskId !== undefined) assert.equal(task?.taskId, taskId, "an accepted message is lost");
      else if (isRefused && untold === 0)
        assert.equal(task, undefined, "a refused message was taken");
    }
  }

  /** The body of a step ran once at most, and once if its result is known. */
  #checkEffects(): void {
    assert.equal(new Set(this.#effects).size, this.#effects.length, "a step ran twice");
    for (const { taskId, account } of this.#tasks) {
      const ran = this.#effects.filter((key) => key.startsWith(taskId)).length;
      assert.ok(ran >= account.stepsKnown, "a step that never ran has a result");
    }
  }

  #checkWaiters(): void {
    for (const { messageId, answer } of this.#waiters) {
      const task = this.#tasks.find(({ account }) => account.messageIds.includes(messageId));
      assert.ok(task !== undefined);
      const { state } = task.account;
      if (isTerminal(state)) assert.notEqual(answer, undefined, "a caller waits in vain");
      if (answer !== undefined) assert.equal((answer as Partial<Task>).id, task.taskId);
    }
  }
}

/** Whether one command may change what another one finds. */
function disturbs(other: Command, { ...command }: Command): boolean {
  if (other.kind === "crash" || other.kind === "advance") return true;
  const isHarmless = ["get", "follow", "leave", "send", "send and wait"].includes(other.kind);
  return !isHarmless || command.kind === "crash";
}

function pick<T>(from: readonly T[], number: number): T | undefined {
  return from[number % Math.max(1, from.length)];
}

/** What came of it, if it is a refusal that callers may get. */
async function outcomeOf<T>(work: Promise<T>): Promise<T | A2AError> {
  try {
    return await work;
  } catch (error) {
    if (A2AError.is(error)) return error;
    throw error;
  }
}
