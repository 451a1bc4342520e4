import {
  type AgentEvent,
  type ArtifactUpdateEvent,
  type InternalEvent,
  type Metadata,
  ServerStopping,
  type Turn,
  agentMessage,
  textPart,
} from "@convoke/protocol";
import { type FunctionTurn, createFunctionTurn } from "./function-turn.ts";
import type { ArtifactOutput, EndOutput, FunctionOutput } from "./function-output.ts";
import { FunctionScope } from "./scope.ts";
import { Secrets } from "../approvals/secrets.ts";
import { NoAnswerError, type RunHooks } from "./waits.ts";
import { inspect } from "node:util";

/**
 * What a function agent may yield: a chunk of its answer, a function output, or an event that it
 * created itself.
 */
export type Yielded = string | FunctionOutput | AgentEvent;

/** What `run` may return: a stream, or just the answer. */
export type RunResult =
  | AsyncGenerator<Yielded, Yielded | void, unknown>
  | Promise<Yielded | void>
  | Yielded
  | void;

type Batch = readonly AgentEvent[];

type Taken = IteratorResult<Batch, undefined>;

/** Maximum number of outputs that a function may be ahead of the reader. */
const MAX_BATCH = 64;

/**
 * One run of a function as an iterator of events. A function produces events by yielding and by
 * calling `ask`, and both arrive here in the order in which they happened. The function is only
 * resumed when the reader has taken the previous events.
 */
export class FunctionRun implements AsyncIterableIterator<Batch>, RunHooks {
  readonly inputTimeoutMs: number | undefined;
  readonly warned: Set<string>;
  readonly #turn: Turn;
  readonly #run: (turn: FunctionTurn) => RunResult;
  #source: AsyncGenerator<Yielded, Yielded | void, unknown> | undefined;
  #emitted: AgentEvent[] = [];
  // Created on first use, because a function may wait for long before it says anything.
  #answer: AnswerEvents | undefined;
  #ownSecrets: Secrets | undefined;
  #untold: (() => void)[] | undefined;
  readonly scope = new FunctionScope();
  #finish: (() => Promise<void> | undefined) | undefined;
  #taken: PromiseWithResolvers<void> | undefined;
  #isPulling = false;
  #isHandScheduled = false;
  #isDone = false;
  #yields = 0;
  #failure: { readonly error: unknown } | undefined;
  #take: ((result: Taken | Promise<Taken>) => void) | undefined;

  /**
   * @param options.inputTimeoutMs the agent's own time limit for answers
   * @param options.warned what the operator was told of the agent, which is enough once
   */
  constructor(
    turn: Turn,
    run: (turn: FunctionTurn) => RunResult,
    {
      inputTimeoutMs,
      warned = new Set(),
    }: { readonly inputTimeoutMs?: number | undefined; readonly warned?: Set<string> } = {},
  ) {
    this.#turn = turn;
    this.#run = run;
    this.inputTimeoutMs = inputTimeoutMs;
    this.warned = warned;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Taken> {
    const taken = new Promise<Taken>((resolve) => {
      this.#take = resolve;
    });
    // This read means that the engine has taken the previous batch.
    if (this.#emitted.length === 0) this.#tell();
    this.#hand();
    if (this.#take !== undefined && !this.#isPulling) {
      this.#isPulling = true;
      this.#taken?.resolve();
      this.#taken = undefined;
      // The function starts with the first read.
      this.#source ??= this.#start();
      this.#pull(this.#source);
    }
    return taken;
  }

  #start(): AsyncGenerator<Yielded, Yielded | void, unknown> {
    const { turn, finish } = createFunctionTurn(this.#turn, this);
    this.#finish = finish;
    return asGenerator(() => this.scope.enter(() => this.#run(turn)));
  }

  #pull(source: AsyncGenerator<Yielded, Yielded | void, unknown>): void {
    this.scope.enter(() => source.next()).then(this.#onYield, this.#onThrow);
  }

  get secrets(): Secrets {
    return (this.#ownSecrets ??= new Secrets());
  }

  get #events(): AnswerEvents {
    return (this.#answer ??= new AnswerEvents(this.#turn));
  }

  #tell(): void {
    const untold = this.#untold;
    if (untold === undefined) return;
    this.#untold = undefined;
    for (const tell of untold) tell();
  }

  /**
   * Called when the engine needs no more events. A function that is still waiting is notified by
   * its signal. One whose run was given up is left where it stands: it must not clean up, because
   * another attempt continues.
   */
  return(): Promise<Taken> {
    this.#isDone = true;
    this.#emitted = [];
    this.#hand();
    if (!ServerStopping.is(this.#turn.signal.reason)) this.#stop();
    return Promise.resolve({ done: true, value: undefined });
  }

  #stop(): void {
    void this.#source?.return(undefined).catch(() => undefined);
  }

  /** The function waits at a `yield` while it is ahead of the reader. */
  outputTaken(): Promise<void> | undefined {
    if (this.#isPulling || this.#isDone || this.#failure !== undefined) return undefined;
    return (this.#taken ??= Promise.withResolvers()).promise;
  }

  /** Emits events outside the generator. Resolves when they are durable. */
  async say(events: readonly AgentEvent[]): Promise<void> {
    await this.#emitNow(events);
    await this.#turn.durable();
  }

  begin(name: string, event?: InternalEvent): Promise<() => Promise<void>> {
    const announce = (): Promise<void> => this.#emitNow([event!]);
    return this.#turn.begin({ name, ...(event && { start: { event, announce } }) });
  }

  /** Resolves when the engine has taken the events. */
  async #emitNow(events: readonly AgentEvent[]): Promise<void> {
    if (this.#isDone) {
      await this.#turn.durable();
      throw new Error("the run is over");
    }
    this.#emitted.push(...events);
    const taken = new Promise<void>((resolve) => (this.#untold ??= []).push(resolve));
    this.#hand();
    await taken;
  }

  /** Ends the run with the error. The function waits for ever, and its outputs no longer count. */
  giveUp(error: unknown): Promise<never> {
    if (!this.#isDone) {
      this.#isDone = true;
      this.#failure = { error };
      this.#hand();
    }
    return new Promise(() => undefined);
  }

  readonly #onYield = (result: IteratorResult<Yielded, Yielded | void>): void => {
    const finished = result.done === true ? this.#finish?.() : undefined;
    if (finished === undefined) this.#accept(result);
    else finished.then(() => this.#accept(result), this.#onThrow);
  };

  #accept(result: IteratorResult<Yielded, Yielded | void>): void {
    this.#isPulling = false;
    if (this.#isDone) return;
    this.#isDone = result.done === true;
    try {
      this.#emit(result);
      const forgotten = this.#isDone ? this.scope.forgotten() : undefined;
      if (forgotten !== undefined) this.#turn.warn?.(forgotten, { isMistake: true });
    } catch (error) {
      // The function yielded an invalid value. Treat it as if the function had thrown the error.
      this.#failure = { error: this.secrets.hideError(error) };
      this.#stop();
    }
    this.#goOn();
  }

  #emit({ done, value }: IteratorResult<Yielded, Yielded | void>): void {
    this.#yields += 1;
    if (done === true) this.#emitted.push(...this.#last(value));
    else if (typeof value === "string") this.#emitted.push(this.#events.chunk(value));
    else this.#emitted.push(...this.#outputs(value, `yielded as output ${this.#yields}`));
  }

  /**
   * Events that arrive at the same time are delivered as one batch, up to a limit. A burst of
   * chunks costs the engine only one step, and a single chunk is not delayed.
   */
  #goOn(): void {
    if (this.#isDone || this.#failure !== undefined || this.#emitted.length >= MAX_BATCH) {
      return this.#hand();
    }
    if (!this.#isHandScheduled) {
      this.#isHandScheduled = true;
      process.nextTick(handLater, this);
    }
    this.#isPulling = true;
    if (this.#source !== undefined) this.#pull(this.#source);
  }

  /** Delivers what has arrived in this turn of the event loop. */
  handAll(): void {
    this.#isHandScheduled = false;
    this.#hand();
  }

  readonly #onThrow = (error: unknown): void => {
    this.#isPulling = false;
    if (this.#isDone) return;
    if (error instanceof NoAnswerError) {
      this.#isDone = true;
      this.#emitted.push(this.#events.unanswered(error));
    } else this.#failure = { error: this.secrets.hideError(error) };
    this.#hand();
  };

  /** Delivers pending events to the waiting read, if there are any. */
  #hand(): void {
    const take = this.#take;
    if (take === undefined) return;
    if (this.#emitted.length > 0) {
      const value = this.#emitted;
      this.#emitted = [];
      take({ done: false, value });
    } else if (this.#failure !== undefined) {
      take(Promise.reject(this.#failure.error));
    } else if (this.#isDone) {
      take({ done: true, value: undefined });
    } else {
      return;
    }
    this.#take = undefined;
  }

  /** The return value is the last output. Text completes the answer. */
  #last(value: Yielded | void): Batch {
    if (typeof value === "string") return this.#events.end(value);
    const said = value === undefined ? [] : this.#outputs(value, "returned");
    return [...this.#events.end(), ...said];
  }

  /** @param how how the function produced it, for the error */
  #outputs(yielded: Exclude<Yielded, string>, how: string): Batch {
    const { kind } = (yielded ?? {}) as { readonly kind?: unknown };
    if (typeof yielded === "object" && yielded !== null) this.scope.used(yielded);
    if (typeof kind !== "string" || !isOutputKind(kind)) {
      const shown = inspect(yielded, { depth: 2, breakLength: Number.POSITIVE_INFINITY });
      throw new TypeError(
        `run ${how} ${shown.slice(0, MAX_SHOWN)}, which is no output of an agent: use text, an ` +
          "event, or what status, artifact, reply, complete, reject or fail return",
      );
    }
    return isOwnOutput(yielded) ? this.#events.said(yielded) : [yielded];
  }
}

/** One function for all runs, because each of them is kept while its function waits. */
function handLater(run: FunctionRun): void {
  run.handAll();
}

/** The longest value that an error shows, in characters. */
const MAX_SHOWN = 200;

const OUTPUT_KIND = /^(?:task|message|status-update|artifact-update|(?:internal|output):.+)$/;

function isOutputKind(kind: string): boolean {
  return OUTPUT_KIND.test(kind);
}

function isOwnOutput(value: FunctionOutput | AgentEvent): value is FunctionOutput {
  return value.kind.startsWith("output:");
}

/**
 * Wraps a plain function as a stream that only has a return value. An error that the function
 * throws synchronously is thrown by the stream.
 */
function asGenerator(run: () => RunResult): AsyncGenerator<Yielded, Yielded | void, unknown> {
  let result: RunResult;
  try {
    result = run();
  } catch (error) {
    result = Promise.reject(error);
  }
  const isStream = typeof result === "object" && result !== null && Symbol.asyncIterator in result;
  return isStream
    ? (result as AsyncGenerator<Yielded, Yielded | void, unknown>)
    : onlyEnd(result as Exclude<RunResult, AsyncGenerator>);
}

// oxlint-disable-next-line require-yield -- the stream has nothing but its end
async function* onlyEnd(
  result: Exclude<RunResult, AsyncGenerator>,
): AsyncGenerator<Yielded, Yielded | void, unknown> {
  return await result;
}

/**
 * Converts the outputs of a function to events. Text becomes chunks of one artifact, the answer:
 * the first chunk creates it, later ones are appended, and the last one marks it complete.
 */
class AnswerEvents {
  readonly #turn: Turn;
  readonly #answerId: string;
  #isOpen = false;

  constructor(turn: Turn) {
    this.#turn = turn;
    // A later turn of the same task adds its own answer.
    this.#answerId = `answer-${(turn.task.artifacts?.length ?? 0) + 1}`;
  }

  /** A chunk of the answer. */
  chunk(text: string): AgentEvent {
    const append = this.#isOpen;
    this.#isOpen = true;
    const { id: taskId, contextId } = this.#turn.task;
    const artifact = { artifactId: this.#answerId, parts: [textPart(text)] };
    // Without the spread of `#artifactUpdate`: most events are chunks.
    return { kind: "artifact-update", taskId, contextId, artifact, append };
  }

  said(said: FunctionOutput): Batch {
    switch (said.kind) {
      case "output:status":
        return [this.#status("working", said.text)];
      case "output:artifact":
        return [this.#artifact(said)];
      case "output:reply":
        return [agentMessage(this.#turn.id(), said.text)];
      case "output:end":
        return [
          ...(said.state === "completed" ? this.end() : []),
          this.#status(said.state, said.text),
        ];
      default:
        return said satisfies never;
    }
  }

  /** The end of a task whose question was not answered in time. */
  unanswered({ timeoutMs }: NoAnswerError): AgentEvent {
    const { id: taskId } = this.#turn.task;
    const metadata = { reason: "input-timeout", taskId, timeoutSeconds: timeoutMs / 1000 };
    return this.#status("failed", "Input timeout", metadata);
  }

  /** The last chunk, if there was a first: a streamed artifact ends with `lastChunk` (0.3 §7.2). */
  end(text = ""): readonly AgentEvent[] {
    if (!this.#isOpen && text === "") return [];
    const artifact = { artifactId: this.#answerId, parts: [textPart(text)] };
    const append = this.#isOpen;
    this.#isOpen = false;
    return [this.#artifactUpdate(artifact, { append, lastChunk: true })];
  }

  #artifact({ name, parts, description }: ArtifactOutput): AgentEvent {
    const artifact = { artifactId: name, name, ...(description && { description }), parts };
    return this.#artifactUpdate(artifact, { append: false, lastChunk: true });
  }

  #artifactUpdate(
    artifact: ArtifactUpdateEvent["artifact"],
    flags: Pick<ArtifactUpdateEvent, "append" | "lastChunk">,
  ): AgentEvent {
    const { id: taskId, contextId } = this.#turn.task;
    return { kind: "artifact-update", taskId, contextId, artifact, ...flags };
  }

  #status(state: "working" | EndOutput["state"], text: string, metadata?: Metadata): AgentEvent {
    const { id: taskId, contextId } = this.#turn.task;
    const more = metadata && { metadata };
    const message = { ...agentMessage(this.#turn.id(), text), ...more };
    const final = state !== "working";
    const status = { state, message };
    return { kind: "status-update", taskId, contextId, status, final, ...more };
  }
}
