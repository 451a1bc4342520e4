import type { PlanEntry } from "@convoke/coder/internal";
import type { AgentEnvironment, ApprovalOption } from "@convoke/protocol";
import { startTimer } from "@convoke/protocol/internal";
import { TIME_LIMIT } from "../program/child-program.ts";
import {
  type ProcessAgentOptions,
  type ProcessSettings,
  processSettings,
} from "../program/process-options.ts";
import type { Permission, ProgramEvent, PromptEnd } from "../program/program-event.ts";
import { ProgramSessions, type UsedSession } from "./program-sessions.ts";

/** What happens in a session. Each run begins with `session_started` and has exactly one end. */
export type SessionEvent =
  | { readonly type: "session_started" }
  /** A block of the answer. */
  | {
      readonly type: "assistant";
      readonly message: {
        readonly role: "assistant";
        readonly content: readonly { readonly type: "text"; readonly text: string }[];
      };
    }
  | { readonly type: "thinking"; readonly thinking: string }
  | {
      readonly type: "tool_status";
      readonly statusMessage: string;
      readonly toolCallId?: string;
      readonly status?: string;
      readonly plan?: readonly PlanEntry[];
    }
  /** The program waits for `answerApproval`. */
  | {
      readonly type: "approval_request";
      readonly request: {
        readonly id: string;
        readonly toolName: string;
        readonly description: string;
        readonly options: readonly string[];
      };
    }
  /** The program could not do what it was asked for. */
  | { readonly type: "error"; readonly error: { readonly type: string; readonly message: string } }
  /** The process has crashed, or could not be started. */
  | {
      readonly type: "session_error";
      readonly error: { readonly type: string; readonly message: string };
    }
  | { readonly type: "result"; readonly subtype: "success" | "error" }
  /** The end of a run that nobody stopped. */
  | { readonly type: "session_exited" }
  /** The end of a run after `stopProcess`. */
  | { readonly type: "session_stopped" };

export type SessionListener = (sessionId: string, event: SessionEvent) => void;

/** The program of the sessions; the options are those of `processAgent` without its card. */
export type ProcessManagerOptions = Pick<
  ProcessAgentOptions,
  | "command"
  | "args"
  | "protocol"
  | "workspace"
  | "workspacePerSession"
  | "env"
  | "limits"
  | "mode"
  | "authMethod"
  | "files"
  | "slashCommands"
> &
  Pick<AgentEnvironment, "folder" | "logger">;

/** One run of a session. */
interface SessionRun {
  readonly abort: AbortController;
  readonly answers: Map<string, (option: ApprovalOption | undefined) => void>;
}

/**
 * Runs sessions of a program for a host that has tasks of its own, and reports their events. For an
 * agent that is served, use `processAgent`: its tasks survive a restart.
 */
export class ProcessManager {
  readonly #sessions: ProgramSessions;
  readonly #options: ProcessManagerOptions;
  readonly #settings: ProcessSettings;
  readonly #listeners = new Map<string, Set<SessionListener>>();
  readonly #runs = new Map<string, SessionRun>();

  constructor(options: ProcessManagerOptions) {
    this.#options = options;
    this.#settings = processSettings(options);
    this.#sessions = new ProgramSessions(this.#settings, options);
  }

  /** Calls back for each event of a session. Returns a function that ends the subscription. */
  subscribe(sessionId: string, listener: SessionListener): () => void {
    const listeners = this.#listeners.get(sessionId) ?? new Set();
    this.#listeners.set(sessionId, listeners.add(listener));
    return () => this.unsubscribe(sessionId, listener);
  }

  unsubscribe(sessionId: string, listener: SessionListener): void {
    const listeners = this.#listeners.get(sessionId);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(sessionId);
  }

  /** Gives a prompt to the program of a session. What happens is reported as events. */
  startProcess({ id }: { readonly id: string }, prompt: string): void {
    if (this.#runs.has(id)) throw new Error(`session ${id} is already running; stop it first`);
    const run: SessionRun = { abort: new AbortController(), answers: new Map() };
    this.#runs.set(id, run);
    // Subscribers of the next lines hear of everything.
    setImmediate(() => void this.#run(id, run, prompt));
  }

  /** Decides on an `approval_request`. Returns whether it was still open. */
  answerApproval(sessionId: string, requestId: string, option: ApprovalOption): boolean {
    const answers = this.#runs.get(sessionId)?.answers;
    const answer = answers?.get(requestId);
    answers?.delete(requestId);
    answer?.(option);
    return answer !== undefined;
  }

  /** Stops what a session does. `session_stopped` follows when its process is gone. */
  stopProcess(sessionId: string): void {
    this.#runs.get(sessionId)?.abort.abort(new Error("the session was stopped"));
  }

  /** Stops all processes. */
  async close(): Promise<void> {
    for (const sessionId of this.#runs.keys()) this.stopProcess(sessionId);
    await this.#sessions.close();
  }

  async #run(id: string, run: SessionRun, prompt: string): Promise<void> {
    const { signal } = run.abort;
    this.#emit(id, { type: "session_started" });
    let used: UsedSession | undefined;
    try {
      used = await this.#sessions.use({ owner: "", contextId: id, taskId: id, signal });
      this.#report(id, await this.#prompt(id, run, used, prompt), signal);
    } catch (error) {
      if (!signal.aborted) {
        this.#options.logger?.warn("a session of a program failed", { sessionId: id, error });
        const text = "the program could not be used; see the log";
        this.#emit(id, { type: "session_error", error: { type: "start-failed", message: text } });
      }
    }
    this.#runs.delete(id);
    // Before the session is released: a listener may start it again.
    this.#emit(id, { type: signal.aborted ? "session_stopped" : "session_exited" });
    used?.release();
  }

  async #prompt(id: string, run: SessionRun, used: UsedSession, text: string): Promise<PromptEnd> {
    const { session } = used;
    const stop = (): void => void used.stop();
    run.abort.signal.addEventListener("abort", stop, { once: true });
    const stopTimer = startTimer(this.#settings.limits.promptMs, () => {
      void session.child.stop(TIME_LIMIT);
    });
    const blocks = new TextBlocks();
    const prompt = {
      taskId: id,
      parts: [{ kind: "text", text } as const],
      history: [],
      isContinued: false,
    };
    const events = session.prompt(prompt);
    void events.ended.then(stopTimer);
    for await (const event of events) {
      // What comes after the stop is not reported.
      if (run.abort.signal.aborted) continue;
      for (const block of blocks.next(event)) this.#emit(id, block);
      if (event.kind === "end") return event;
      if (event.kind === "permission") this.#ask(id, run, event.permission);
      else if (event.kind === "question") event.question.answer("");
      else for (const one of toolStatus(event)) this.#emit(id, one);
    }
    return { kind: "end", outcome: "canceled" };
  }

  #ask(id: string, run: SessionRun, { call, options, answer }: Permission): void {
    run.answers.set(call.callId, answer);
    const { callId, name: toolName, title: description } = call;
    const request = { id: callId, toolName, description, options };
    this.#emit(id, { type: "approval_request", request });
  }

  #report(id: string, end: PromptEnd, { aborted }: AbortSignal): void {
    if (aborted) return;
    if (end.outcome === "completed") {
      return this.#emit(id, { type: "result", subtype: "success" });
    }
    if (end.cause !== undefined) {
      const fields = { sessionId: id, error: end.cause };
      this.#options.logger?.warn("a program answered with an error", fields);
    }
    const { reason = "failed", text = "the program answered with an error; see the log" } = end;
    const type = end.isLost === true ? "session_error" : "error";
    this.#emit(id, { type, error: { type: reason, message: text } });
    return this.#emit(id, { type: "result", subtype: "error" });
  }

  /** An error of one listener does not concern the others. */
  #emit(sessionId: string, event: SessionEvent): void {
    for (const listener of this.#listeners.get(sessionId) ?? []) {
      try {
        listener(sessionId, event);
      } catch (error) {
        this.#options.logger?.warn("a listener of a session failed", { sessionId, error });
      }
    }
  }
}

/** Joins chunks: a block of text or thought is over when something else follows. */
class TextBlocks {
  #kind: "text" | "thought" = "text";
  #text = "";

  next(event: ProgramEvent): readonly SessionEvent[] {
    const isChunk = event.kind === "text" || event.kind === "thought";
    const before = isChunk && event.kind === this.#kind ? [] : this.#flush();
    if (isChunk) {
      this.#kind = event.kind;
      this.#text += event.text;
    }
    return before;
  }

  #flush(): readonly SessionEvent[] {
    const text = this.#text;
    this.#text = "";
    if (text === "") return [];
    if (this.#kind === "thought") return [{ type: "thinking", thinking: text }];
    const message = { role: "assistant", content: [{ type: "text", text }] } as const;
    return [{ type: "assistant", message }];
  }
}

function toolStatus(event: ProgramEvent): readonly SessionEvent[] {
  if (event.kind === "status") return [{ type: "tool_status", statusMessage: event.text }];
  if (event.kind === "plan") {
    return [{ type: "tool_status", statusMessage: "The plan has changed.", plan: event.entries }];
  }
  if (event.kind !== "tool") return [];
  const { title: statusMessage, callId: toolCallId, status } = event.call;
  return [{ type: "tool_status", statusMessage, toolCallId, status }];
}
