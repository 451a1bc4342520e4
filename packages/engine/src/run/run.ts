import {
  type Agent,
  type AgentEvent,
  type Beginning,
  ENGINE_EVENTS,
  type InternalEvent,
  type Message,
  type Metadata,
  ServerStopping,
  type StatusUpdateEvent,
  type Task,
  type TaskState,
  type TraceContext,
  type TracingOptions,
  agentMessage,
  isInterrupted,
  isPublic,
  isResumable,
  isTerminal,
  textOfParts,
} from "@convoke/protocol";
import type { CommitResult } from "../log/backend.ts";
import { earliest, wakeTimeAfter } from "../task/task-clock.ts";
import { type Limits, OutputLimits } from "../task/limits.ts";
import type { LiveTask } from "./live-task.ts";
import type { TaskFiles } from "../files/task-files.ts";
import { Parking, type RunningTurn, type TurnFacts, createTurn } from "./turn.ts";
import type { Replay } from "./replay.ts";
import { RunSpan } from "./run-span.ts";
import { eventsLeadingTo } from "../task/snapshot-events.ts";
import { createStatusEvent, traceFields } from "../task/status.ts";
import { askedUntil } from "../log/turn-log.ts";

export interface RunOptions {
  readonly agent: Agent;
  readonly limits: Limits;
  readonly files: TaskFiles;
  readonly live: LiveTask;
  readonly facts: TurnFacts;
  /** Whether a completed status without a message repeats the text of the artifacts. */
  readonly finalMessage: boolean;
  /** What spans contain. */
  readonly tracing: Required<TracingOptions>;
  readonly now: () => number;
  readonly hooks: RunHooks;
}

/** What runs report. All runs of an engine share one object, because each task has a run. */
export interface RunHooks {
  /** Called when a run waits for its caller or for a time; it may be evicted then. */
  readonly onPark: (live: LiveTask) => void;
  /** Called when the agent has ended and its last event is committed or refused. */
  readonly onEnded: (run: Run, live: LiveTask) => void;
  /** Logs what the operator should know about the agent. */
  readonly warn: (
    message: string,
    live: LiveTask,
    options?: { readonly isMistake?: boolean },
  ) => void;
  /** Converts an error of the agent to a text that is safe to store, and logs the rest. */
  readonly explain: (error: unknown, live: LiveTask) => Failure;
}

/** Why a task failed, as shown in its status. */
export interface Failure {
  readonly text: string;
  readonly metadata: Metadata;
}

/**
 * One run of the agent on a turn. The events of the agent are completed, checked
 * and appended to the log; when the agent ends, so does the turn. The agent is
 * slowed down when it gets too far ahead of the writer.
 *
 * A run whose task goes on without it is given up: its code is left where it waits, and never finds
 * out, because it could only react in a way that is wrong for a task that continues. `halt` comes
 * first if there is time: then nothing begins any more, and what has begun can end.
 */
export class Run {
  readonly epoch: number;
  readonly parking = new Parking();
  readonly #options: RunOptions;
  readonly #turn: RunningTurn;
  readonly #abort = new AbortController();
  readonly #replay: Replay | undefined;
  readonly #limits: OutputLimits;
  /** Created when something waits for the end. */
  #ended: PromiseWithResolvers<void> | undefined;
  #hasEnded = false;
  #announced: boolean;
  #refused = false;
  #isHalted = false;
  /** Whether the log has what a later attempt needs to continue, instead of starting over. */
  #isResumable: boolean;
  /** How many starts are announced and not committed yet. */
  #starting = 0;
  /** What has begun and not ended. Created when something begins. */
  #begun: Set<Beginning> | undefined;
  /** The last step that the run has written to, and what follows from its result. */
  #step: Promise<CommitResult> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  readonly #span: RunSpan;
  /** When the last question expires. */
  #until: number | undefined;
  /** When the run is resumed at the latest, in addition, while it is suspended. */
  #timer: number | undefined;
  #isKept = false;
  /** Whether something else is under way besides the last wait. */
  #isAlongside = false;

  constructor(options: RunOptions) {
    const { live, facts, now, limits, hooks } = options;
    this.#options = options;
    this.epoch = facts.epoch;
    this.#announced = facts.announced;
    this.#replay = facts.replay;
    this.#until = askedUntil(facts.journal);
    this.#isResumable = facts.journal.some(isResumable);
    const task = live.isStored ? live.task : facts.task;
    this.#limits = new OutputLimits(limits, task, live.writer.nextHead);
    if (facts.creating !== undefined) this.#follow(facts.creating);
    this.#span = new RunSpan(options);
    this.#turn = createTurn(live, facts, {
      now,
      warn: (message, options) => hooks.warn(message, live, options),
      signal: this.#abort.signal,
      trace: this.#span.trace ?? facts.trace,
      tracing: options.tracing,
      files: options.files,
      finalMessage: options.finalMessage,
      park: (until, recall) => this.#park(until, recall),
      durable: () => this.#durable(),
      begin: (beginning) => this.#begin(beginning),
    });
    void this.#span.run(() => this.#drive());
  }

  /** Resolves when the agent has ended and its last event is committed or refused, or the run is given up. */
  get ended(): Promise<void> {
    this.#ended ??= Promise.withResolvers();
    if (this.#hasEnded) this.#ended.resolve();
    return this.#ended.promise;
  }

  /** Resolves when everything written so far is committed or refused. */
  get settled(): Promise<unknown> {
    return this.#last;
  }

  /** Resolves when the run has ended or is suspended for the first time. */
  get yielded(): Promise<unknown> {
    return Promise.race([this.ended, this.parking.first]);
  }

  /** Resolves when the run is suspended or has ended. */
  idle(): Promise<unknown> {
    return Promise.race([this.ended, this.parking.next()]);
  }

  /** The trace that the events of the run carry. */
  get trace(): TraceContext | undefined {
    return this.#options.facts.trace;
  }

  /** Whether the run is suspended until `resume`. */
  get isParked(): boolean {
    return this.parking.isWaiting;
  }

  /** Whether it can be evicted: it is suspended, and nothing of it is under way. */
  get isEvictable(): boolean {
    return this.isParked && !this.#isKept;
  }

  /** When the last question expires, in milliseconds since the epoch, if it does. */
  get until(): number | undefined {
    return this.#until;
  }

  /** When the next sleep of a suspended run ends, in milliseconds since the epoch, if it sleeps. */
  get timer(): number | undefined {
    return this.#timer;
  }

  /**
   * Resumes with the answer, or with `undefined` if the time has come.
   *
   * @param at when the wait ended, as recorded in the log
   * @param request the request that has brought the answer
   */
  resume(answer: Message | undefined, at: string, request?: TraceContext): void {
    this.#turn.resumedAt = new Date(at);
    this.#span.begin(request);
    if (this.#span.trace !== undefined) this.#turn.trace = this.#span.trace;
    this.parking.resume(answer);
  }

  /** Asks the agent to stop, because its task is canceled or has ended. */
  abort(reason: Error): void {
    this.#abort.abort(reason);
    this.#options.live.inbox.close();
    this.parking.end(reason);
  }

  /** Lets nothing begin any more. */
  halt(): void {
    this.#isHalted = true;
  }

  /** Whether an announced start is on its way to the log, or back out of it. */
  get isStarting(): boolean {
    return this.#starting > 0 && !this.#isOver();
  }

  /**
   * What would be lost if the run was given up now: what has begun, or the whole run of an agent that
   * cannot continue from its journal.
   */
  get underWay(): readonly string[] {
    if (this.#isOver()) return [];
    const names = Array.from(this.#begun ?? [], ({ name }) => name);
    return names.length > 0 || this.isParked || this.#isResumable ? names : ["the run"];
  }

  /** Leaves the task without ending it: another attempt continues, here or elsewhere. */
  giveUp(reason = new ServerStopping()): void {
    this.#refused = true;
    this.#abort.abort(reason);
    this.#options.live.inbox.leave();
    this.parking.end();
    void this.#last.then(() => this.#over());
  }

  /** The task goes on without this run, or has ended, whether or not the agent has stopped. */
  detached(): void {
    this.#span.end(this.#abort.signal.reason);
  }

  #park(until?: Date, recall?: AbortSignal): Promise<Message | undefined> {
    if (this.#refused || this.#abort.signal.aborted) return this.#untilCanceled();
    const parked = this.parking.wait();
    this.#span.end();
    const time = until?.getTime();
    // The end of its question is no timer of its own.
    this.#timer = time === this.#until ? undefined : time;
    this.#isKept = recall !== undefined;
    this.#setWakeTime();
    const { hooks, live } = this.#options;
    if (recall === undefined) hooks.onPark(live);
    else this.parking.recallOn(recall, () => this.#recall());
    return parked;
  }

  /** The events that began the waits have set it, unless there are several, or one is over. */
  #setWakeTime(): void {
    const { writer, deadline } = this.#options.live;
    const isAsking = isInterrupted(writer.nextState);
    if (this.#timer === undefined && !isAsking) return;
    const expiry = isAsking ? this.questionEnd : undefined;
    const wakeAt = earliest([deadline, this.#timer, expiry]);
    if ((wakeAt ?? undefined) === writer.nextWake) return;
    this.#commit([], { wakeAt });
  }

  /** When the pending question is over without an answer, in milliseconds since the epoch, if ever. */
  get questionEnd(): number | undefined {
    const { agent, live } = this.#options;
    const { nextState, statusAt } = live.writer;
    const { inputTimeout } = agent.info;
    const hasTimeout = nextState === "input-required" && inputTimeout !== undefined;
    return (
      earliest([this.#until, hasTimeout ? statusAt + inputTimeout.ms : undefined]) ?? undefined
    );
  }

  /** Resumes without an answer, unless an answer is being stored already. */
  #recall(): void {
    const { live, now } = this.#options;
    const { writer, deadline } = live;
    if (!isInterrupted(writer.nextState) || this.#isStopped()) return;
    const timestamp = writer.statusTime(now());
    const recalled = { kind: ENGINE_EVENTS.recalled, taskId: writer.taskId, timestamp };
    this.#append([recalled, this.#createStatus("working")], deadline ?? null);
    this.resume(undefined, timestamp);
  }

  async #durable(): Promise<void> {
    this.#options.live.writer.hurry();
    await this.#last;
    if (this.#refused) await this.#untilCanceled();
  }

  async #begin(beginning: Beginning): Promise<() => Promise<void>> {
    const { start } = beginning;
    const { signal } = this.#abort;
    if (start !== undefined && !this.#isHalted && !signal.aborted) {
      await this.#commitStart(start);
      if (this.#isHalted) this.#hold(start.event);
    }
    if (this.#isHalted && !this.#isResumable) this.#hold();
    if (this.#isHalted || signal.aborted) return this.#untilCanceled();
    const begun = (this.#begun ??= new Set()).add(beginning);
    return async () => {
      begun.delete(beginning);
      if (this.#refused) await this.#untilCanceled();
    };
  }

  async #commitStart({ announce }: NonNullable<Beginning["start"]>): Promise<void> {
    this.#starting++;
    try {
      await announce();
      await this.#durable();
    } finally {
      this.#starting--;
    }
  }

  /** Records that something has not begun, so that a later attempt begins it. */
  #hold(start?: InternalEvent): void {
    const { taskId } = this.#options.live.writer;
    // Its other fields may be large.
    const fields = Object.entries(start ?? {}).filter(([, value]) => typeof value !== "object");
    const held = { kind: ENGINE_EVENTS.held, taskId, resumable: true };
    const note = start === undefined ? held : { ...held, start: Object.fromEntries(fields) };
    if (!this.#isOver()) this.#append([note]);
  }

  /** Rejects when the task is canceled or has ended. Never settles for a run that is given up. */
  #untilCanceled(): Promise<never> {
    const { signal } = this.#abort;
    return new Promise((_, reject) => {
      const abort = (): void => {
        if (!ServerStopping.is(signal.reason)) reject(signal.reason as Error);
      };
      if (signal.aborted) abort();
      else signal.addEventListener("abort", abort, { once: true });
    });
  }

  /** One asynchronous function, because it is kept for as long as the agent works. */
  async #drive(): Promise<void> {
    const { agent, live } = this.#options;
    try {
      for await (const yielded of agent.run(this.#turn)) {
        const taken = this.#take(Array.isArray(yielded) ? yielded : [yielded as AgentEvent]);
        if (taken !== undefined) await taken;
        if (this.#isOver()) break;
        const room = live.writer.room();
        if (room !== undefined) await room;
      }
      const isAnswered = this.#options.finalMessage && this.#announced && !this.#isOver();
      this.#finish(isAnswered ? this.#finalMessage(await this.#taskSoFar()) : undefined);
    } catch (error) {
      this.#fail(error);
    }
    await this.#last;
    this.#over();
  }

  #over(): void {
    const { live, hooks } = this.#options;
    this.detached();
    this.#hasEnded = true;
    this.#ended?.resolve();
    hooks.onEnded(this, live);
  }

  /** Accepts events; asynchronous only if the agent publishes a task among them. */
  #take(events: readonly AgentEvent[]): Promise<void> | undefined {
    const place = events.findIndex(
      (event) => event.kind === "task" || (this.#options.finalMessage && isBareCompletion(event)),
    );
    if (place === -1) {
      this.#acceptAll(events);
      return undefined;
    }
    this.#acceptAll(events.slice(0, place));
    return this.#takeWithTask(events[place]!, events.slice(place + 1));
  }

  /** Accepts an event that depends on all that the agent has written before. */
  async #takeWithTask(event: AgentEvent, rest: readonly AgentEvent[]): Promise<void> {
    if (this.#isOver()) return;
    const task = await this.#taskSoFar();
    if (event.kind === "task") {
      // A task that the agent publishes stands for the events that lead to it.
      const { nextState } = this.#options.live.writer;
      await this.#take(eventsLeadingTo(event as Task, task, nextState));
    } else {
      const update = event as StatusUpdateEvent;
      const message = this.#finalMessage(task);
      this.#accept({ ...update, status: { ...update.status, ...(message && { message }) } });
    }
    await this.#take(rest);
  }

  /** The task with everything that was written so far. */
  async #taskSoFar(): Promise<Task> {
    await this.#durable();
    const { live, facts } = this.#options;
    return live.isStored ? live.task : facts.task;
  }

  /** The text of the artifacts of this turn as a message, for clients that do not read artifacts. */
  #finalMessage({ artifacts = [] }: Task): Message | undefined {
    const earlier = new Set(this.#options.facts.task.artifacts);
    const own = artifacts.filter((artifact) => !earlier.has(artifact));
    const texts = own.map(({ parts }) => textOfParts(parts)).filter((text) => text !== "");
    return texts.length === 0 ? undefined : agentMessage(this.#turn.id(), texts.join("\n"));
  }

  /** Consecutive chunks, such as those of a burst, are written together. */
  #acceptAll(events: readonly AgentEvent[]): void {
    let plain: AgentEvent[] = [];
    for (const event of events) {
      if (event.kind === "artifact-update" && this.#announced) {
        plain.push(this.#complete(event));
        continue;
      }
      if (plain.length > 0 && !this.#isOver()) this.#write(plain);
      plain = [];
      this.#accept(event);
    }
    if (plain.length > 0 && !this.#isOver()) this.#write(plain);
  }

  #accept(event: AgentEvent): void {
    if (this.#isOver()) return;
    switch (event.kind) {
      case "message":
        return this.#reply(event as Message);
      case "status-update":
        return this.#status(event as StatusUpdateEvent);
      default:
        if (!this.#announced) this.#write(this.#opening());
        this.#write([this.#complete(event)]);
    }
  }

  /** A message is the whole answer if nothing else came before it. */
  #reply(message: Message): void {
    // A reply ends the task, and a canceled task cannot end in any other way (G10: cancel wins).
    if (this.#isStopped()) return;
    const { agent, live } = this.#options;
    const alone = agent.info.replies && !this.#announced;
    const { contextId } = live;
    this.#write([alone ? { ...message, contextId } : this.#createStatus("completed", message)]);
  }

  #status({ status, metadata }: StatusUpdateEvent): void {
    if (this.#isStopped() && isTerminal(status.state)) return;
    const isCompleted = status.state === "completed";
    if (this.#replay !== undefined && isCompleted) this.#append(this.#replay.finish());
    const update = this.#createStatus(status.state, status.message, metadata);
    if (status.state !== "working") return this.#write([...this.#opening(), update]);
    const { writer } = this.#options.live;
    const isBare = status.message === undefined && metadata === undefined;
    const repeats = isBare && writer.nextState === "working";
    this.#announced = true;
    if (!repeats) this.#write([update]);
  }

  /** Shows the task to clients before the agent has decided: a reply that comes later completes the task. */
  announce(): void {
    if (!this.#isOver()) this.#append(this.#opening());
  }

  /** The `working` status before the first output, if it has not been written yet. */
  #opening(): readonly AgentEvent[] {
    if (this.#announced) return [];
    this.#announced = true;
    return [this.#createStatus("working")];
  }

  /** If the agent ended without a final status, the task is completed, canceled, or waits for a new turn. */
  #finish(message?: Message): void {
    const { writer } = this.#options.live;
    if (this.#isStopped()) return this.#end("canceled");
    if (this.#isOver()) return;
    if (isInterrupted(writer.nextState)) return this.#writeTurnEnd();
    this.#end("completed", message);
  }

  #fail(error: unknown): void {
    if (this.#isStopped()) return this.#end("canceled");
    if (this.#refused) return;
    const { hooks, live } = this.#options;
    const { text, metadata } = hooks.explain(error, live);
    this.#end("failed", { ...agentMessage(this.#turn.id(), text), metadata }, metadata);
  }

  #end(state: TaskState, message?: Message, metadata?: Metadata): void {
    if (this.#isOver()) return;
    if (this.#replay !== undefined && state === "completed") this.#append(this.#replay.finish());
    this.#append([...this.#opening(), this.#createStatus(state, message, metadata)]);
  }

  /** Whether the run was aborted, or is about to be. */
  #isStopped(): boolean {
    return this.#turn.signal.aborted || this.#options.live.isCanceled;
  }

  #isOver(): boolean {
    return this.#refused || isTerminal(this.#options.live.writer.nextState);
  }

  /** Marks the end of the turn, so that the next message need not read the whole log. */
  #writeTurnEnd(): void {
    const { live, facts } = this.#options;
    const { taskId } = live.writer;
    this.#write([{ kind: ENGINE_EVENTS.turnEnd, taskId, turn: facts.turn }]);
  }

  #createStatus(state: TaskState, message?: Message, metadata?: Metadata): StatusUpdateEvent {
    const { agent, live } = this.#options;
    const { writer, contextId } = live;
    const event = createStatusEvent({
      taskId: writer.taskId,
      contextId,
      state,
      timestamp: writer.statusTime(this.#options.now()),
      ...(message && { message: { ...message, taskId: writer.taskId, contextId } }),
      ...(metadata && { metadata }),
      keepOpen: agent.info.keepStreamOnInterrupt,
    });
    return this.#complete(event) as StatusUpdateEvent;
  }

  /** Adds the ids of the task and, if the caller sent one, the trace. */
  #complete(event: AgentEvent): AgentEvent {
    const { live } = this.#options;
    const { trace } = this;
    const { contextId } = live;
    const { taskId } = live.writer;
    const given = event as Partial<StatusUpdateEvent>;
    if (trace !== undefined) {
      return {
        ...event,
        taskId,
        contextId,
        metadata: { ...given.metadata, ...traceFields(trace) },
      } as AgentEvent;
    }
    const isNamed = given.taskId === taskId && given.contextId === contextId;
    return isNamed ? event : ({ ...event, taskId, contextId } as AgentEvent);
  }

  /** Writes what an earlier attempt has not written. */
  #write(events: readonly AgentEvent[]): void {
    const replay = this.#replay;
    const fresh =
      replay === undefined ? events : events.flatMap((event) => replay.next(event) ?? []);
    const exceeded = this.#limits.firstBeyond(fresh);
    // Keep the events before the limit was reached.
    this.#append(exceeded === undefined ? fresh : fresh.slice(0, exceeded.index));
    if (exceeded !== undefined) throw exceeded.error;
  }

  #append(events: readonly AgentEvent[], wake?: number | null): void {
    if (events.length === 0) return;
    this.#isResumable ||= events.some((event) => !isPublic(event) && isResumable(event));
    this.#span.add(events);
    const { live, agent, now } = this.#options;
    const last = events.at(-1)!;
    if (last.kind === "internal:ask") this.#until = askedUntil([last as InternalEvent]);
    const { info } = agent;
    const { deadline, writer } = live;
    const facts = { info, deadline, until: this.#until, wakeAt: writer.nextWake, now };
    const wakeAt = wake !== undefined ? wake : wakeTimeAfter(last, facts);
    this.#commit(events, { wakeAt, running: this.#isAtWork(events) });
  }

  #commit(
    events: readonly AgentEvent[],
    {
      wakeAt,
      running,
    }: { readonly wakeAt: number | null | undefined; readonly running?: boolean | undefined },
  ): void {
    const { live } = this.#options;
    const committed = live.writer.append(events, {
      epoch: this.epoch,
      insist: true,
      listed: this.#announced,
      ...(wakeAt !== undefined && { wakeAt }),
      running,
    });
    this.#follow(committed);
    // Only once it is stored: a timer that fires earlier finds nothing.
    if (typeof wakeAt === "number") void this.#last.then(() => live.onWakeAt(wakeAt));
  }

  /**
   * Whether the agent is at work after these events: not while it only waits for an answer or a time,
   * unless it watches for something itself. `undefined` if they do not tell.
   */
  #isAtWork(events: readonly AgentEvent[]): boolean | undefined {
    let atWork: boolean | undefined;
    for (const event of events) {
      if (event.kind === "status-update") {
        atWork = this.#isAlongside || !isInterrupted((event as StatusUpdateEvent).status.state);
      } else if (event.kind === "internal:ask" || event.kind === "internal:sleep") {
        const { isWatched, alongside } = event as InternalEvent;
        if (isWatched === true) return true;
        this.#isAlongside = alongside === true;
        atWork = this.#isAlongside;
      } else if (event.kind === "internal:idle") {
        this.#isAlongside = false;
        atWork = false;
      } else if (event.kind === "internal:step-start") atWork = true;
    }
    return atWork;
  }

  #follow(step: Promise<CommitResult>): void {
    // Events of one step share its promise.
    if (step === this.#step) return;
    this.#step = step;
    // A newer run owns the task, or the task has ended or was never stored: the output of this run no
    // longer counts.
    const refuse = (): void => {
      this.#refused = true;
      // The run of a task that was never created is aborted instead: nothing continues it.
      if (this.#options.live.isStored && !this.#isStopped()) this.giveUp();
    };
    this.#last = step.then(({ kind }) => {
      if (kind !== "committed") refuse();
    }, refuse);
  }
}

function isBareCompletion(event: AgentEvent): boolean {
  if (event.kind !== "status-update") return false;
  const { status } = event as StatusUpdateEvent;
  return status.state === "completed" && status.message === undefined;
}
