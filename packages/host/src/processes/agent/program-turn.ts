import {
  type AgentEvent,
  type Message,
  ServerStopping,
  type Turn,
  textOfParts,
} from "@convoke/protocol";
import { backoffMs, orAborted, sleep, startTimer } from "@convoke/protocol/internal";
import { requestedSettings } from "@convoke/coder/internal";
import { TIME_LIMIT } from "../program/child-program.ts";
import type { ProcessSettings } from "../program/process-options.ts";
import {
  type ProgramEvent,
  type ProgramPrompt,
  type ProgramSession,
  type PromptEnd,
  lostEnd,
} from "../program/program-event.ts";
import {
  type ProgramSessions,
  ProgramStartError,
  type UsedSession,
} from "../sessions/program-sessions.ts";
import { TurnEvents } from "./turn-events.ts";
import { TurnJournal } from "./turn-journal.ts";
import { TurnQuestions } from "./turn-questions.ts";

export interface ProgramTurnScope {
  readonly sessions: ProgramSessions;
  readonly settings: ProcessSettings;
  readonly warn: (text: string, fields: { readonly error?: unknown }) => void;
}

/** Says that a later attempt can continue the turn, because the program can load its session. */
const SESSION = "internal:process/session";

const RESTART_WAIT = { firstMs: 250, longestMs: 10_000 };

/** What a program asks. */
type Asked = Extract<ProgramEvent, { readonly kind: "permission" | "question" }>;

/** The process has ended while the task waited for an answer, so that another one gets the answer. */
const GONE: PromptEnd = { kind: "end", outcome: "failed", reason: "gone", isLost: true };

type Events = AsyncGenerator<readonly AgentEvent[], PromptEnd>;

/** One turn of a task that a program works on. */
export class ProgramTurn {
  readonly #turn: Turn;
  readonly #scope: ProgramTurnScope;
  readonly #events: TurnEvents;
  readonly #questions: TurnQuestions;
  #isRecorded: boolean;
  /** Resolves when the program has ended its last prompt. */
  #promptEnded: Promise<void> = Promise.resolve();
  /** What the caller said instead of a decision: the program gets it next. */
  #instead: Message | undefined;

  constructor(turn: Turn, scope: ProgramTurnScope) {
    this.#turn = turn;
    this.#scope = scope;
    this.#isRecorded = turn.journal.some(({ kind }) => kind === SESSION);
    this.#events = new TurnEvents(turn, this.#isRecorded);
    this.#questions = new TurnQuestions(turn, this.#events, new TurnJournal(turn.journal));
  }

  async *run(): AsyncGenerator<readonly AgentEvent[]> {
    await this.#questions.awaitPending();
    let message = this.#questions.takeSuperseding() ?? this.#turn.message;
    let isContinued = this.#turn.attempt > 1 && message === this.#turn.message;
    for (let failures = 0; ;) {
      const end = yield* this.#attempt(message, isContinued);
      this.#turn.signal.throwIfAborted();
      if (this.#instead !== undefined) {
        message = this.#instead;
        this.#instead = undefined;
        isContinued = false;
        continue;
      }
      if (end === GONE) {
        // A program that cannot continue begins again, and so does its answer.
        if (!this.#isRecorded) this.#events.beginAgain();
        isContinued = true;
        continue;
      }
      failures += 1;
      const mayRestart = end.reason === "process-exited" && this.#isRecorded;
      if (end.isLost === true && mayRestart && failures <= this.#scope.settings.limits.restarts) {
        this.#scope.warn(`the program is started again. ${end.text}`, {});
        await sleep(backoffMs(failures, RESTART_WAIT), this.#turn.signal);
        isContinued = true;
        continue;
      }
      return yield this.#finish(end);
    }
  }

  /** Gives the message to a process, and passes on what it says. */
  async *#attempt(message: Message, isContinued: boolean): Events {
    const { task, caller, signal, conversation } = this.#turn;
    const user = { owner: caller.owner, contextId: task.contextId, taskId: task.id, signal };
    let used: UsedSession;
    try {
      used = await this.#scope.sessions.use(user);
    } catch (error) {
      const end = error instanceof ProgramStartError ? error.end : undefined;
      if (end === undefined || end.reason === "stopped") throw error;
      this.#scope.warn("the program could not be started", { error });
      return lostEnd(end);
    }
    let isPrompted = false;
    try {
      yield* this.#record(used.session);
      const history = used.session.remembers ? [] : conversation.map(historyEntry);
      const { parts } = message;
      const prompt = { taskId: task.id, parts, history, isContinued, mode: this.#mode() };
      isPrompted = true;
      const end = yield* this.#prompt(used, prompt);
      isPrompted = false;
      return end;
    } finally {
      if (isPrompted) this.#leave(used);
      else used.release();
    }
  }

  /** Records that a later attempt can continue the turn, if the program can load its session. */
  async *#record({ resumeId }: ProgramSession): AsyncGenerator<readonly AgentEvent[]> {
    if (resumeId === undefined || this.#isRecorded) return;
    this.#isRecorded = true;
    yield [this.#events.note(SESSION, { resumable: true })];
    await this.#turn.durable();
  }

  /** The run is over before the prompt is: nobody else may use the session until that has ended. */
  #leave(used: UsedSession): void {
    used.session.cancel();
    const stopTimer = startTimer(this.#scope.settings.limits.graceMs, () => void used.stop());
    void this.#promptEnded.then(() => {
      stopTimer();
      used.release();
    });
  }

  async *#prompt(used: UsedSession, prompt: ProgramPrompt): Events {
    const { session } = used;
    let ended = await this.#begin();
    const stopWatching = this.#watch(used);
    const clock = new PromptClock(this.#scope.settings.limits.promptMs, () => {
      void session.child.stop(TIME_LIMIT);
    });
    const events = session.prompt(prompt);
    this.#promptEnded = events.ended;
    try {
      for await (const event of events) {
        if (event.kind === "end") return event;
        if (event.kind !== "permission" && event.kind !== "question") {
          yield this.#events.next(event);
          continue;
        }
        clock.pause();
        used.rest();
        // The program does nothing until it has its answer.
        void ended();
        ended = yield* this.#ask(event, session);
        if (session.child.isEnding && this.#instead === undefined) return GONE;
        used.wake();
        clock.resume();
      }
      throw new Error("the program ended its prompt without an end");
    } finally {
      void ended();
      clock.pause();
      stopWatching();
    }
  }

  /** A prompt, and its rest after an answer, is something that a stop of the server must not cut. */
  #begin(): ReturnType<Turn["begin"]> {
    const { begin, signal } = this.#turn;
    return orAborted(begin({ name: "a prompt of the program" }), signal);
  }

  /** Passes a question of the program on to the caller, and the answer back: with it, the program begins again. */
  async *#ask(
    event: Asked,
    session: ProgramSession,
  ): AsyncGenerator<readonly AgentEvent[], Awaited<ReturnType<Turn["begin"]>>> {
    const isAlive = (): boolean => !session.child.isEnding;
    if (event.kind === "question") {
      const answer = yield* this.#questions.question(event.question, isAlive);
      const ended = await this.#begin();
      event.question.answer(answer);
      return ended;
    }
    const { option, instead } = yield* this.#questions.permission(event.permission, isAlive);
    const ended = await this.#begin();
    event.permission.answer(option);
    this.#instead = instead;
    if (instead !== undefined) session.cancel();
    return ended;
  }

  /** When the task is canceled, the program is asked to end the prompt, and is stopped if it does not. */
  #watch(used: UsedSession): () => void {
    const { signal } = this.#turn;
    let stopTimer = (): void => undefined;
    const abort = (): void => {
      if (ServerStopping.is(signal.reason)) return void used.stop();
      used.session.cancel();
      stopTimer = startTimer(this.#scope.settings.limits.graceMs, () => void used.stop());
      return undefined;
    };
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    return () => {
      signal.removeEventListener("abort", abort);
      stopTimer();
    };
  }

  /** The mode that the caller asks for, if it may choose it. */
  #mode(): string | undefined {
    const { mode, callerModes } = this.#scope.settings;
    const requested = requestedSettings(this.#turn)?.mode;
    return requested !== undefined && callerModes.includes(requested) ? requested : mode;
  }

  #finish({ outcome, reason, text, cause }: PromptEnd): readonly AgentEvent[] {
    if (cause !== undefined) throw new Error("the program answered with an error", { cause });
    const closing = this.#events.close();
    if (outcome === "completed") return [...closing, this.#events.status("completed")];
    const state = outcome === "rejected" ? "rejected" : "failed";
    const metadata = { reason };
    const message = { ...this.#events.message(text ?? "The program failed."), metadata };
    return [...closing, this.#events.status(state, message, metadata)];
  }
}

function historyEntry({ role, parts }: Message): ProgramPrompt["history"][number] {
  return { role, text: textOfParts(parts) };
}

/** Calls back after a time of work; pauses do not count. */
class PromptClock {
  #leftMs: number;
  readonly #fire: () => void;
  #startedAt = 0;
  #stopTimer: (() => void) | undefined;

  constructor(ms: number, fire: () => void) {
    this.#leftMs = ms;
    this.#fire = fire;
    this.resume();
  }

  pause(): void {
    if (this.#stopTimer === undefined) return;
    this.#stopTimer();
    this.#stopTimer = undefined;
    this.#leftMs -= performance.now() - this.#startedAt;
  }

  resume(): void {
    this.#startedAt = performance.now();
    this.#stopTimer = startTimer(Math.max(0, this.#leftMs), this.#fire, { unref: true });
  }
}
