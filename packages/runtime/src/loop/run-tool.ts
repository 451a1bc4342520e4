import { orAborted, startTimer } from "@convoke/protocol/internal";
import { type ApprovalDecidedEvent, type GatedCall, mayRun } from "../approvals/gate.ts";
import type { Secrets } from "../approvals/secrets.ts";
import { type Metadata, ServerStopping } from "@convoke/protocol";
import type { Subscriber } from "rxjs";
import { loadRxjs } from "../tools/rxjs.ts";
import type { Tape, TapedCall, ToolOutcome } from "../run/tape.ts";
import { stoppable } from "../tools/stoppable.ts";
import type { Interrupt, Tool, ToolContext, ToolEvent } from "../tools/tool.ts";
import { isInterrupt } from "../tools/interrupts.ts";
import { ToolOutput, boundedOutput } from "../tools/tool-output.ts";

/** Receives the events of a running tool. */
export interface ToolSink {
  take(event: ToolEvent): void;
  /** Resolves when more events may follow; undefined while there is room. */
  room(): Promise<void> | undefined;
}

export interface ToolRunOptions {
  /** The call, as the gate knows it. */
  readonly call: GatedCall;
  readonly decisions: readonly ApprovalDecidedEvent[];
  /** The arguments, checked. */
  readonly input: unknown;
  /** Present while a test records or replays the run; `input` are the arguments as given. */
  readonly taped?:
    | { readonly tape: Tape; readonly input: Metadata; readonly secrets: Secrets }
    | undefined;
  readonly context: Omit<ToolContext, "signal" | "stopped">;
  /** Fires when the run is over, for whatever reason. */
  readonly signal: AbortSignal;
  /** The longest output that the model gets, in characters. */
  readonly outputLimit: number;
  readonly sink: ToolSink;
}

/** Runs a tool to its end, or replays an earlier run. */
export function runTool(tool: Tool, options: ToolRunOptions): Promise<ToolOutcome> {
  const { taped, sink, call } = options;
  if (taped === undefined) return runToEnd(tool, options);
  const { tape, input, secrets } = taped;
  const tapedCall: TapedCall = {
    toolCallId: call.toolCallId,
    toolName: tool.name,
    input,
    isApproved: call.isGuarded,
    show: (event) => sink.take(event),
    hide: (value) => secrets.hide(value),
  };
  return tape.call(tapedCall, (show) =>
    runToEnd(tool, { ...options, sink: { take: show, room: () => sink.room() } }),
  );
}

/**
 * Runs a tool to its end, whatever it returns. A tool that fails, times out or is refused by the
 * gate yields an error for the model. If the run ends first, the reason of its signal is thrown
 * and further output of the tool is dropped. If it is given up, because the server stops, the code of
 * the tool is left where it waits: `signal` does not fire, and a generator is not closed.
 */
async function runToEnd(tool: Tool, options: ToolRunOptions): Promise<ToolOutcome> {
  const { signal, sink, outputLimit } = options;
  signal.throwIfAborted();
  const own = new AbortController();
  const stopped = new AbortController();
  const abort = (reason: unknown): void => {
    if (!ServerStopping.isSilent(reason)) own.abort(reason);
    stopped.abort(reason);
  };
  const stop = (): void => abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const stopTimer = startTimer(tool.timeoutMs, () => abort(new ToolTimeout(tool)));
  const values = new ToolValues(outputLimit, (event) => {
    if (!stopped.signal.aborted) hand(event, sink);
  });
  const signals = { signal: own.signal, stopped: stopped.signal };
  try {
    const consumed = consume(begin(tool, options, signals), values, { ...signals, sink });
    await orAborted(consumed, stopped.signal);
    return values.outcome();
  } catch (error) {
    signal.throwIfAborted();
    // Abort whatever a failed tool left running, such as a request. A tool that succeeded is not
    // aborted, because it may have left something running on purpose, without an abort handler.
    abort(new Error("the call is over"));
    if (error instanceof SinkError) throw error.cause;
    const text = errorText(tool, error);
    const last = error instanceof ToolTimeout ? tool.late?.(options.context, text) : undefined;
    if (last !== undefined) sink.take(last);
    return { kind: "error", text, error };
  } finally {
    stopTimer();
    signal.removeEventListener("abort", stop);
  }
}

/** The only place where a tool is started; the approval check comes immediately before. */
function begin(tool: Tool, options: ToolRunOptions, signals: CallSignals): unknown {
  const { call, decisions, input, context } = options;
  if (!mayRun(call, decisions)) throw new Error("the call is not approved");
  return tool.run(input, { ...context, ...signals });
}

type CallSignals = Pick<ToolContext, "signal" | "stopped">;

interface Consuming extends CallSignals {
  readonly sink: ToolSink;
}

async function consume(returned: unknown, values: ToolValues, consuming: Consuming): Promise<void> {
  const value = isPromise(returned) ? await orAborted(returned, consuming.signal) : returned;
  if (isAsyncIterable(value)) return pull(value, values, consuming);
  if (isObservable(value)) return watch(value, values, consuming);
  if (isGenerator(value)) return pull(asAsync(value), values, consuming);
  return values.end(value);
}

/** Reads only while the sink has room, so a tool with endless output is paused. */
async function pull(
  source: AsyncIterable<unknown>,
  values: ToolValues,
  { signal, stopped, sink }: Consuming,
): Promise<void> {
  const iterator = stoppable(source, signal);
  for (;;) {
    const { done, value } = await iterator.next();
    if (done === true) return values.end(value);
    if (stopped.aborted) return;
    try {
      values.add(value);
      await sink.room();
    } catch (error) {
      void iterator.return(undefined);
      throw error;
    }
  }
}

/** How many events a source that cannot be paused may be ahead. */
const MAX_AHEAD = 1024;

/**
 * An Observable cannot be paused. Its output is limited anyway; too many events ahead of the reader
 * are an error.
 */
function watch(
  source: ObservableLike,
  values: ToolValues,
  { signal, sink }: Consuming,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let ahead = 0;
  let inner: Subscriber<unknown> | undefined;
  const fail = (error: unknown): void => {
    reject(error as Error);
    inner?.unsubscribe();
  };
  const stop = (): void => fail(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const { Observable } = loadRxjs();
  // A synchronous source without end never returns from subscribe, so it is unsubscribed from
  // inside.
  const wrapped = new Observable<unknown>((subscriber) => {
    inner = subscriber;
    subscriber.add(() => signal.removeEventListener("abort", stop));
    source.subscribe(subscriber);
  });
  wrapped.subscribe({
    next: (value) => {
      ahead = sink.room() === undefined ? 0 : ahead + 1;
      try {
        if (ahead > MAX_AHEAD) throw new Error("it gave more events than could be taken");
        values.add(value);
      } catch (error) {
        fail(error);
      }
    },
    error: fail,
    complete: resolve,
  });
  return promise;
}

/** Wraps an error of the sink, to tell it from an error of the tool. */
class SinkError extends Error {
  override readonly name = "SinkError";
}

function hand(event: ToolEvent, sink: ToolSink): void {
  try {
    sink.take(event);
  } catch (cause) {
    throw new SinkError("the event was not taken", { cause });
  }
}

class ToolTimeout extends Error {
  override readonly name = "ToolTimeout";

  constructor({ timeoutMs }: Tool) {
    super(`it took longer than ${timeoutMs / 1000} s and was stopped`);
  }
}

function errorText(tool: Tool, error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  return `Tool ${tool.name} failed: ${why === "" ? "it does not say why" : why.slice(0, 4000)}`;
}

interface ObservableLike {
  subscribe(observer: Subscriber<unknown>): unknown;
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === "function";
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

function isObservable(value: unknown): value is ObservableLike {
  return typeof (value as ObservableLike | null | undefined)?.subscribe === "function";
}

/** A list is a value; only a generator is a stream. */
function isGenerator(value: unknown): value is Generator<unknown, unknown> {
  return typeof value === "object" && value !== null && Symbol.iterator in value && "next" in value;
}

// oxlint-disable-next-line require-await -- the steps of a plain generator, one at a time
async function* asAsync(source: Generator<unknown, unknown>): AsyncGenerator<unknown, unknown> {
  return yield* source;
}

/**
 * Collects what a tool returns or yields, and determines its outcome. An explicit result event
 * takes precedence over the returned value, that over the last value of a stream, and that over its
 * output.
 */
class ToolValues {
  readonly #limit: number;
  readonly #show: (event: ToolEvent) => void;
  readonly #output: ToolOutput;
  readonly #interrupts: Interrupt[] = [];
  #error: string | undefined;
  #result: { readonly value: unknown } | undefined;
  #last: { readonly value: unknown } | undefined;

  /** `show` receives the events that are visible while the tool runs. */
  constructor(limit: number, show: (event: ToolEvent) => void) {
    this.#limit = limit;
    this.#show = show;
    this.#output = new ToolOutput(limit);
  }

  /** One value of a stream. */
  add(value: unknown): void {
    if (typeof value === "string") this.#addOutput(value);
    else if (isInterrupt(value)) this.#interrupts.push(value);
    else if (isToolEvent(value)) this.#addEvent(value);
    else this.#last = { value };
  }

  /**
   * Adds the value that a tool returned. It is the result, unless it is an event or an interrupt.
   */
  end(value: unknown): void {
    if (value === undefined) return;
    if (isInterrupt(value)) this.#interrupts.push(value);
    else if (Array.isArray(value) && value.length > 0 && value.every(isInterrupt)) {
      this.#interrupts.push(...value);
    } else if (isToolEvent(value)) this.#addEvent(value);
    else this.#result ??= { value };
  }

  outcome(): ToolOutcome {
    if (this.#error !== undefined) return { kind: "error", text: this.#error };
    if (this.#interrupts.length > 0) return { kind: "interrupts", interrupts: this.#interrupts };
    const given = this.#result ?? this.#last;
    if (given === undefined) {
      return { kind: "result", value: this.#output.isEmpty ? null : this.#output.text() };
    }
    try {
      return { kind: "result", value: boundedOutput(given.value, this.#limit) };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { kind: "error", text: `The result of the tool is not JSON: ${why}` };
    }
  }

  #addOutput(text: string): void {
    const shown = this.#output.add(text);
    if (shown !== "") this.#show({ kind: "tool:output", text: shown });
  }

  #addEvent(event: ToolEvent): void {
    switch (event.kind) {
      case "tool:output":
        return this.#addOutput(event.text);
      case "tool:result":
        this.#result = { value: event.value };
        return;
      case "tool:error":
        this.#error = event.text;
        return;
      case "tool:progress":
      case "tool:event":
      case "tool:file":
      case "tool:source":
      case "tool:note":
      case "tool:usage":
        return this.#show(event);
      default:
        throw new TypeError(`there is no tool event ${JSON.stringify((event as ToolEvent).kind)}`);
    }
  }
}

function isToolEvent(value: unknown): value is ToolEvent {
  const kind = (value as { readonly kind?: unknown } | null | undefined)?.kind;
  return typeof kind === "string" && kind.startsWith("tool:");
}
