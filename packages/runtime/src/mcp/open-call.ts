import type {
  CallToolResult,
  ElicitRequestParams,
  ElicitResult,
} from "@modelcontextprotocol/client";
import type {
  AuthRequired,
  InputRequired,
  InterruptAnswer,
  ToolContext,
  ToolEvent,
} from "../tools/tool.ts";
import { elicitationAnswer, elicitationInterrupt } from "./elicitation.ts";
import { McpError } from "./mcp-error.ts";
import type { CallOptions } from "./mcp-session.ts";
import type { TraceHeaders } from "@convoke/protocol";
import { AsyncLocalStorage } from "node:async_hooks";

/** How one round of a call ended. */
export type RoundEnd =
  | { readonly kind: "result"; readonly result: CallToolResult }
  | { readonly kind: "error"; readonly error: unknown }
  /** The server needs answers first; the call stays open until they arrive. */
  | { readonly kind: "questions"; readonly interrupts: readonly (InputRequired | AuthRequired)[] };

interface Question {
  readonly params: ElicitRequestParams;
  readonly interrupt: InputRequired | AuthRequired;
  readonly resolve: (result: ElicitResult) => void;
}

/**
 * A call to a server. It may outlive the tool round that started it: while a person answers a
 * question from the server, the call stays open, and the next round delivers the answer.
 */
export class OpenCall {
  readonly taskId: string;
  readonly #server: string;
  readonly #stop = new AbortController();
  readonly #questions = new Map<string, Question>();
  #asked = 0;
  #progress: ToolEvent | undefined;
  #end: RoundEnd | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(server: string, taskId: string) {
    this.#server = server;
    this.taskId = taskId;
  }

  get isOver(): boolean {
    return this.#end !== undefined;
  }

  /**
   * Whether the call waits for an answer. If so, a new question from the server belongs to another
   * call.
   */
  get isWaiting(): boolean {
    return this.#questions.size > 0;
  }

  begin(
    { traceparent, tracestate }: TraceHeaders,
    call: (options: CallOptions) => Promise<CallToolResult>,
  ): void {
    const onProgress: CallOptions["onProgress"] = (progress) => {
      // Only the latest progress is shown.
      this.#progress = progressEvent(progress);
      this.#wake();
    };
    const trace = { traceparent, ...(tracestate !== undefined && { tracestate }) };
    call({ signal: this.#stop.signal, trace, onProgress }).then(
      (result) => this.#finish({ kind: "result", result }),
      (error: unknown) => this.#finish({ kind: "error", error }),
    );
  }

  /** Handles a question from the server. Resolves with the answer, whichever round delivers it. */
  ask(params: ElicitRequestParams, signal: AbortSignal): Promise<ElicitResult> {
    if (this.isOver) throw new Error("the call is over");
    this.#asked += 1;
    const interrupt = elicitationInterrupt(this.#server, params, this.#asked);
    const { promise, resolve } = Promise.withResolvers<ElicitResult>();
    this.#questions.set(interrupt.requestId, { params, interrupt, resolve });
    signal.addEventListener("abort", () => this.#drop(interrupt.requestId), { once: true });
    this.#wake();
    return promise;
  }

  /** Yields the call's progress until it ends or has an unanswered question. */
  async *round({ stopped: signal, answers }: ToolContext): AsyncGenerator<ToolEvent, RoundEnd> {
    const stop = (): void => this.cancel("the call was canceled");
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    try {
      for (;;) {
        const changed = this.#changed.promise;
        const progress = this.#progress;
        this.#progress = undefined;
        if (progress !== undefined) yield progress;
        if (this.#end !== undefined) return this.#end;
        const interrupts = await this.#deliver(answers);
        // If the call ended while the answers were checked, no more answers are needed.
        if (interrupts.length > 0 && !this.isOver) return { kind: "questions", interrupts };
        await changed;
      }
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Asks the server to stop, without waiting for it. */
  cancel(reason: string): void {
    this.#stop.abort(reason);
    for (const requestId of this.#questions.keys()) this.#drop(requestId);
    this.#finish({ kind: "error", error: new McpError("stopped", reason) });
  }

  /**
   * Delivers the available answers to the server. Returns the questions whose answer is missing or
   * invalid.
   */
  async #deliver(
    answers: ReadonlyMap<string, InterruptAnswer>,
  ): Promise<readonly (InputRequired | AuthRequired)[]> {
    const open: (InputRequired | AuthRequired)[] = [];
    for (const [requestId, { params, interrupt, resolve }] of this.#questions) {
      const given = answers.get(requestId);
      const answer = given && (await elicitationAnswer(params, given));
      // The server may have withdrawn the question in the meantime.
      if (!this.#questions.has(requestId)) continue;
      if (answer?.ok === true) {
        this.#questions.delete(requestId);
        resolve(answer.result);
      } else {
        const problem = answer === undefined ? "" : `${answer.problem}\n`;
        open.push({ ...interrupt, prompt: problem + interrupt.prompt });
      }
    }
    return open;
  }

  #drop(requestId: string): void {
    this.#questions.get(requestId)?.resolve({ action: "cancel" });
    this.#questions.delete(requestId);
    this.#wake();
  }

  #finish(end: RoundEnd): void {
    this.#end ??= end;
    this.#wake();
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

function progressEvent({
  progress,
  total,
  message,
}: Parameters<CallOptions["onProgress"]>[0]): ToolEvent {
  const text = message ?? (total === undefined ? String(progress) : `${progress} of ${total}`);
  const isShare = total !== undefined && total > 0 && Number.isFinite(progress / total);
  const fraction = isShare ? Math.min(1, Math.max(0, progress / total)) : undefined;
  return {
    kind: "tool:progress",
    text: text.slice(0, 500),
    ...(fraction !== undefined && { fraction }),
  };
}

const MAX_OPEN = 256;

/** The calls to one server that are in progress or wait for an answer. */
export class OpenCalls {
  readonly #server: string;
  readonly #answerTimeoutMs: number;
  readonly #calls = new Map<string, OpenCall>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #current = new AsyncLocalStorage<OpenCall>();

  constructor(server: string, answerTimeoutMs: number) {
    this.#server = server;
    this.#answerTimeoutMs = answerTimeoutMs;
  }

  /** Finds the call that an earlier round left open. */
  find({ key }: ToolContext): OpenCall | undefined {
    clearTimeout(this.#timers.get(key));
    this.#timers.delete(key);
    return this.#calls.get(key);
  }

  begin(
    { key, taskId, trace }: ToolContext,
    run: (options: CallOptions) => Promise<CallToolResult>,
  ): OpenCall {
    if (this.#calls.size >= MAX_OPEN) throw new Error(`${MAX_OPEN} calls are open already`);
    const call = new OpenCall(this.#server, taskId);
    this.#calls.set(key, call);
    this.#current.run(call, () => call.begin(trace, run));
    return call;
  }

  /** Keeps the call open for an answer, for a limited time. */
  keep({ key }: ToolContext): void {
    const giveUp = (): void => this.#cancel(key, "nobody answered in time");
    this.#timers.set(key, setTimeout(giveUp, this.#answerTimeoutMs).unref());
  }

  end({ key }: ToolContext): void {
    this.#calls.delete(key);
  }

  /** Passes a question from the server to the call that it belongs to. */
  async ask(params: ElicitRequestParams, signal: AbortSignal): Promise<ElicitResult> {
    const call = this.#current.getStore() ?? this.#likely();
    if (call === undefined) throw new Error("it is not clear for which call this is asked");
    return call.ask(params, signal);
  }

  /** Cancels the calls of one task, or all calls. */
  cancel(taskId?: string): void {
    for (const [key, call] of this.#calls) {
      if (taskId === undefined || call.taskId === taskId) this.#cancel(key, "the task is over");
    }
  }

  #cancel(key: string, reason: string): void {
    clearTimeout(this.#timers.get(key));
    this.#timers.delete(key);
    this.#calls.get(key)?.cancel(reason);
    this.#calls.delete(key);
  }

  /**
   * Over stdio, a question does not say which call it belongs to. All calls of one task are
   * answered by the same person, so the latest call is used. If several tasks have open calls, the
   * question is not asked at all, because it must not be shown to the wrong person.
   */
  #likely(): OpenCall | undefined {
    const working = [...this.#calls.values()].filter((call) => !call.isOver && !call.isWaiting);
    const [first] = working;
    const isOneTask = working.every(({ taskId }) => taskId === first?.taskId);
    return isOneTask ? working.at(-1) : undefined;
  }
}
