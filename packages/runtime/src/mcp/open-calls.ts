import type {
  CallToolResult,
  ElicitRequestParams,
  ElicitResult,
} from "@modelcontextprotocol/client";
import { AsyncLocalStorage } from "node:async_hooks";
import type { ToolContext } from "../tools/tool.ts";
import type { CallOptions } from "./mcp-session.ts";
import { OpenCall } from "./open-call.ts";

const MAX_OPEN = 256;

/** The calls to one server that are under way, or wait for somebody's answer. */
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

  /** The call that an earlier round left open. */
  find({ key }: ToolContext): OpenCall | undefined {
    clearTimeout(this.#timers.get(key));
    this.#timers.delete(key);
    return this.#calls.get(key);
  }

  begin(
    { key, taskId }: ToolContext,
    run: (options: CallOptions) => Promise<CallToolResult>,
  ): OpenCall {
    if (this.#calls.size >= MAX_OPEN) throw new Error(`${MAX_OPEN} calls are open already`);
    const call = new OpenCall(this.#server, taskId);
    this.#calls.set(key, call);
    this.#current.run(call, () => call.begin(run));
    return call;
  }

  /** Leaves the call open for an answer, though not for ever. */
  keep({ key }: ToolContext): void {
    const giveUp = (): void => this.#cancel(key, "nobody answered in time");
    this.#timers.set(key, setTimeout(giveUp, this.#answerTimeoutMs).unref());
  }

  end({ key }: ToolContext): void {
    this.#calls.delete(key);
  }

  /** The server asks something for one of its calls. */
  async ask(params: ElicitRequestParams, signal: AbortSignal): Promise<ElicitResult> {
    const call = this.#current.getStore() ?? this.#likely();
    if (call === undefined) throw new Error("it is not clear for which call this is asked");
    return call.ask(params, signal);
  }

  /** Ends the calls of one task, or all. */
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
   * Over standard input and output a question does not say which call it belongs
   * to. Calls of one task are answered by the same person, so that the latest
   * will do; when several tasks have calls under way, nobody is asked: a question
   * must not be shown to somebody else.
   */
  #likely(): OpenCall | undefined {
    const working = [...this.#calls.values()].filter((call) => !call.isOver && !call.isWaiting);
    const [first] = working;
    const isOneTask = working.every(({ taskId }) => taskId === first?.taskId);
    return isOneTask ? working.at(-1) : undefined;
  }
}
