import {
  type AgentEvent,
  EXTENSIONS,
  type InternalEvent,
  type Message,
  type SleepEvent,
  type Turn,
  agentMessage,
  isFinal,
  isWokenBy,
  textOfParts,
  textPart,
} from "@convoke/protocol";
import { answerValues, isRedacted } from "../approvals/check-answer.ts";
import { markedPart } from "../approvals/open-request.ts";
import type { Secrets } from "../approvals/secrets.ts";
import type { JsonSchema } from "../model/model.ts";
import { webUrl } from "../tools/interrupts.ts";
import type { Ends, EndsHooks } from "./ends.ts";
import type { FunctionScope } from "./scope.ts";
import type { Takers } from "./turn-promise.ts";
import { type Journal, type Wait, type WaitEnd, byEnd } from "./journal.ts";

/** What a turn needs from its run. */
export interface RunHooks extends EndsHooks {
  /** Appends events; resolves when they are durable. */
  readonly say: (events: readonly AgentEvent[]) => Promise<void>;
  /** Announces something that begins, see `Turn.begin`. */
  readonly begin: (name: string, start?: InternalEvent) => Promise<() => Promise<void>>;
  /** The agent's own time limit for answers, if it has one. */
  readonly inputTimeoutMs: number | undefined;
  readonly scope: FunctionScope;
  /** What the operator was told of the agent, which is enough once. */
  readonly warned: Set<string>;
  /** The sensitive answers of the run. */
  readonly secrets: Secrets;
}

/** The parts of a turn that its steps and waits share. */
export interface TurnParts {
  readonly journal: Journal;
  readonly ends: Ends;
  readonly hooks: RunHooks;
}

/** A question to the caller. */
export interface FunctionQuestion {
  readonly state: "input-required" | "auth-required";
  /** The question, for people. */
  readonly prompt: string;
  readonly choices?: readonly string[] | undefined;
  /** The schema of the answer; absent if the schema library cannot convert it to JSON Schema. */
  readonly schema?: JsonSchema | undefined;
  readonly sensitive?: boolean | undefined;
  /** The name of the credential that is asked for. */
  readonly credential?: string | undefined;
  readonly timeoutMs?: number | undefined;
  /** What it returns if no answer comes in time. Default: it throws a `NoAnswerError`. */
  readonly unanswered?: string;
  /** Creates its message, if that is not a question like any other. */
  readonly toMessage?: (
    requestId: string,
    facts: { readonly messageId: string; readonly problem?: string | undefined },
  ) => Message;
}

/** An answer that fits, or why it does not. */
export type ReadAnswer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem?: string };

/** Reads the answer to the request with this id from a message. */
export type AnswerReader<T> = (message: Message, requestId: string) => Promise<ReadAnswer<T>>;

/**
 * No answer came in time. A function that does not catch it ends its task as failed, with the
 * reason `input-timeout`.
 */
export class NoAnswerError extends Error {
  override readonly name = "NoAnswerError";
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super("no answer came in time");
    this.timeoutMs = timeoutMs;
  }
}

/**
 * Waits for the caller or for a time, using the journal: a wait that ended in an earlier attempt
 * returns its recorded answer, and a question that was already asked is not asked again. Sleeps run
 * side by side; a turn asks one question at a time, and further ones are queued.
 */
export class Waits {
  readonly #turn: Turn;
  readonly #journal: Journal;
  readonly #ends: Ends;
  readonly #hooks: RunHooks;
  #queue: readonly Asking[] = [];
  /** The question that is being asked, or that waits for its answer. */
  #question: Asking | undefined;
  /** An answer that came before the code has asked again what was recorded. */
  #early: WaitEnd | undefined;
  #sleeps: readonly Sleep[] = [];
  /** What the run is suspended for, while it is. */
  #parked: Parked | undefined;
  /** Whether the log says that nothing is under way in addition to the waits. */
  #isIdle: boolean;

  constructor(turn: Turn, { journal, ends, hooks }: TurnParts) {
    this.#turn = turn;
    this.#journal = journal;
    this.#ends = ends;
    this.#hooks = hooks;
    this.#isIdle = journal.isIdle;
    ends.onChange(() => this.#park());
  }

  /**
   * Asks the caller until an answer fits. Throws a `NoAnswerError` if none came in time. A sensitive
   * answer of an earlier attempt is lost, because it was not stored, so it is asked for again.
   */
  forCaller<T>(question: FunctionQuestion, read: AnswerReader<T>, takers: Takers): Promise<T> {
    // An id is taken even if nothing is asked, so that later ids are the same in every attempt.
    const id = this.#turn.id();
    const requested = askNote(this.#turn, question);
    const recorded = this.#journal.wait(requested);
    const n = recorded?.n ?? this.#journal.newWait();
    const note = recorded?.note ?? { ...requested, requestId: `${id}:${n + 1}`, n };
    const asks = recorded?.asks ?? 0;
    return new Promise((resolve, reject) => {
      const hand: Asking["hand"] = async (end, onHanded) => {
        try {
          const answer = await this.#read(end, asking, read);
          if (!answer.ok) return answer;
          onHanded();
          takers.settle("fulfilled");
          resolve(answer.value);
        } catch (error) {
          onHanded();
          takers.settle("rejected");
          reject(error);
        }
        return { ok: true, value: undefined };
      };
      const asking: Asking = { question, id, note, asks, takers, isOpen: false, hand, reject };
      if (recorded === undefined) void this.#request(asking);
      else if (recorded.end !== undefined) this.#replay(asking, recorded, recorded.end);
      else if (recorded.isWithdrawn) void this.#withdrawn(asking);
      else {
        this.#wait(asking);
        this.#ends.touch();
      }
    });
  }

  /** Waits for a time. A restart of the server does not extend the wait. */
  forTime(ms: number, takers: Takers): Promise<void> {
    const { now, task } = this.#turn;
    const until = new Date(now().getTime() + ms).toISOString();
    const requested = { kind: "internal:sleep", taskId: task.id, until } as const;
    const recorded = this.#journal.wait(requested);
    const n = recorded?.n ?? this.#journal.newWait();
    const note = (recorded?.note ?? { ...requested, n }) as SleepEvent;
    return new Promise((resolveIt, reject) => {
      const resolve = (): void => {
        takers.settle("fulfilled");
        resolveIt();
      };
      const sleep: Sleep = { n, note, resolve, reject };
      if (recorded === undefined) this.#ends.during(this.#begin(sleep)).catch(reject);
      else if (recorded.end !== undefined) {
        const { at } = recorded.end;
        this.#ends.replay(recorded, () => {
          this.#ends.passTo(at);
          resolve();
        });
      } else {
        this.#sleepOn(sleep);
        this.#ends.touch();
      }
    });
  }

  async #begin(sleep: Sleep): Promise<void> {
    await this.#ends.begin(() => this.#journal.contradictionOfWait(sleep.note));
    await this.#note(sleep.note);
    this.#sleepOn(sleep);
  }

  #sleepOn(sleep: Sleep): void {
    this.#sleeps = [...this.#sleeps, sleep];
  }

  async #request(asking: Asking): Promise<void> {
    await this.#ends.during(this.#ends.begin(() => this.#journal.contradictionOfWait(asking.note)));
    this.#queue = [...this.#queue, asking];
    this.#askNext();
  }

  #askNext(): void {
    const [next, ...rest] = this.#queue;
    if (this.#question !== undefined || next === undefined) return;
    this.#queue = rest;
    this.#ends.during(this.#ask(next)).catch(next.reject);
  }

  /** @param problem why the last answer did not fit */
  async #ask(asking: Asking, problem?: string): Promise<void> {
    this.#question = asking;
    const { question, id, note, asks } = asking;
    const messageId = asks === 0 ? id : `${id}-${asks + 1}`;
    asking.asks += 1;
    if (asks === 0) asking.note = { ...note, ...untilField(this.#turn, question) };
    const { id: taskId, contextId } = this.#turn.task;
    const { state } = question;
    const message = questionMessage(question, { note: asking.note, messageId, problem });
    const final = isFinal(state);
    const update = { kind: "status-update", taskId, contextId, status: { state, message }, final };
    await this.#note(asking.note, update as AgentEvent);
    this.#wait(asking);
  }

  /** Records the begin of a wait. */
  async #note(note: InternalEvent, ...more: readonly AgentEvent[]): Promise<void> {
    const isAlone =
      this.#sleeps.length === 0 && this.#question?.isOpen !== true && !this.#ends.isAlongside;
    const after = this.#ends.place;
    await this.#hooks.say([{ ...note, after, ...(!isAlone && { alongside: true }) }, ...more]);
    this.#isIdle = isAlone;
  }

  #wait(asking: Asking): void {
    this.#question = asking;
    asking.isOpen = true;
    const answer = this.#early;
    this.#early = undefined;
    if (answer !== undefined) this.#answered(asking, answer);
  }

  #replay(asking: Asking, recorded: Wait, end: WaitEnd): void {
    this.#ends.replay(recorded, async () => {
      const answer = await asking.hand(end, () => this.#ends.passTo(end.at));
      if (answer.ok) return;
      void this.#ends.during(this.#ends.begin()).then(() => {
        this.#queue = [asking, ...this.#queue];
        this.#askNext();
      });
    });
  }

  /** Suspends the run while it waits. It stays in memory while something else of it is under way. */
  #park(): void {
    this.#withdrawLost();
    const isBusy = !this.#ends.isIdle;
    if (isBusy) this.#isIdle = false;
    // An answer that arrives before the code has asked again would be lost.
    if (this.#ends.isReplaying) return;
    if (this.#question?.isOpen !== true && this.#sleeps.length === 0) return;
    const isKept = isBusy || !this.#isIdle;
    const until = this.#nextEnd();
    const { recall } = this.#parked ?? {};
    const isSame = this.#parked?.until === until && (recall !== undefined) === isKept;
    if (this.#parked === undefined || !isSame) this.#suspend(until, isKept);
    if (!isBusy && !this.#isIdle) this.#rest();
  }

  /** When the next sleep ends. */
  #nextEnd(): string | undefined {
    return this.#sleeps.toSorted(byEnd)[0]?.note.until;
  }

  /** Records that nothing but the waits is under way any more: then a crash need not resume the run. */
  #rest(): void {
    const note = {
      kind: "internal:idle",
      taskId: this.#turn.task.id,
      after: this.#ends.place,
      sleeps: this.#sleeps.length,
      isAsking: this.#question?.isOpen === true,
    } as const;
    // A note that cannot be written counts too: the run is over, and would otherwise try it for ever,
    // without a turn of the event loop for anything else.
    const said = this.#hooks.say([note]).catch(() => undefined);
    void this.#ends.during(said.then(() => void (this.#isIdle = true)));
  }

  #suspend(until: string | undefined, isKept: boolean): void {
    const recall = isKept ? new AbortController() : undefined;
    const parked: Parked = { until, recall };
    this.#parked = parked;
    const at = until === undefined ? undefined : new Date(until);
    this.#turn.park(at, recall?.signal).then(
      (message) => {
        // It may have been suspended again in the same moment, for something else in addition.
        if (this.#parked === parked) this.#parked = undefined;
        this.#resumed(message);
      },
      (error: unknown) => this.#fail(error),
    );
  }

  #resumed(message: Message | undefined): void {
    this.#isIdle = false;
    if (this.#question?.isWithdrawn === true) return this.#dropQuestion(this.#question);
    const at = this.#turn.resumedAt ?? this.#turn.now();
    const timestamp = at.toISOString();
    const isOver = ({ note }: Sleep): boolean =>
      message === undefined && isWokenBy(note, { kind: "internal:woken", taskId: "", timestamp });
    const over = this.#sleeps.filter(isOver).toSorted(byEnd);
    this.#sleeps = this.#sleeps.filter((sleep) => !isOver(sleep));
    for (const { resolve } of over) {
      this.#ends.arrive(() => {
        this.#ends.handed(at);
        resolve();
      });
    }
    const asking = this.#question;
    if (over.length === 0 && asking?.isOpen === true) this.#answered(asking, { message, at });
    else if (message !== undefined) this.#early = { message, at };
    this.#park();
  }

  #answered(asking: Asking, end: WaitEnd): void {
    asking.isOpen = false;
    this.#ends.arrive(async () => {
      const answer = await asking.hand(end, () => this.#ends.handed(end.at ?? this.#turn.now()));
      if (!answer.ok) {
        this.#ends.during(this.#ask(asking, answer.problem)).catch(asking.reject);
        return;
      }
      this.#question = undefined;
      this.#askNext();
    });
  }

  async #read<T>(
    { message, at }: WaitEnd,
    { note, question: { timeoutMs = 0, sensitive = false, unanswered } }: Asking,
    read: AnswerReader<T>,
  ): Promise<ReadAnswer<T>> {
    const { until, requestId = "" } = note;
    if (message === undefined && unanswered !== undefined) {
      return { ok: true, value: unanswered as T };
    }
    if (message === undefined) {
      const isOwn = typeof until === "string" && at !== undefined && new Date(until) <= at;
      throw new NoAnswerError(isOwn ? timeoutMs : (this.#hooks.inputTimeoutMs ?? timeoutMs));
    }
    if (isRedacted(message, String(requestId))) return { ok: false };
    if (sensitive) {
      const values = answerValues(message, String(requestId));
      this.#hooks.secrets.addAll([textOfParts(message.parts), ...values]);
    }
    return read(message, String(requestId));
  }

  /** Withdraws the question if the code goes on without it, because it has lost a race. */
  #withdrawLost(): void {
    const lost = this.#queue.filter(({ takers }) => takers.areSettled);
    this.#queue = this.#queue.filter((asking) => !lost.includes(asking));
    const asking = this.#question;
    if (asking?.isOpen === true && asking.takers.areSettled) {
      if (this.#parked?.recall === undefined) this.#suspend(this.#nextEnd(), true);
      const { resumedAt } = this.#turn;
      this.#parked?.recall?.abort();
      // Not if an answer is being stored: then that is the end of the question.
      asking.isWithdrawn = this.#turn.resumedAt !== resumedAt;
      asking.isOpen = !asking.isWithdrawn;
    }
    for (const one of lost) this.#askWhenTaken(one);
  }

  #dropQuestion(asking: Asking): void {
    this.#question = undefined;
    this.#askWhenTaken(asking);
    this.#askNext();
    this.#park();
  }

  /** A question that an earlier attempt has withdrawn is asked again if it has not lost in this one. */
  async #withdrawn(asking: Asking): Promise<void> {
    await this.#ends.begin();
    if (asking.takers.areSettled) this.#askWhenTaken(asking);
    else void this.#request(asking);
  }

  /** The code may wait for a question later that has lost a race. */
  #askWhenTaken(asking: Asking): void {
    asking.takers.onTaken = () => {
      asking.takers.onTaken = undefined;
      asking.isWithdrawn = false;
      void this.#request(asking);
    };
  }

  #fail(error: unknown): void {
    this.#parked = undefined;
    const waiting = [...this.#sleeps, ...(this.#question?.isOpen === true ? [this.#question] : [])];
    this.#sleeps = [];
    this.#question = undefined;
    for (const { reject } of waiting) reject(error);
  }
}

/** A question, from its request until its answer fits. */
interface Asking {
  readonly question: FunctionQuestion;
  /** The id of its first message. */
  readonly id: string;
  note: InternalEvent;
  /** How often it was asked. */
  asks: number;
  /** Whether the task waits for its answer. */
  isOpen: boolean;
  /** Hands the end of the wait to the code, unless it is an answer that does not fit. */
  readonly hand: (end: WaitEnd, onHanded: () => void) => Promise<ReadAnswer<unknown>>;
  readonly reject: (error: unknown) => void;
  readonly takers: Takers;
  isWithdrawn?: boolean;
}

interface Sleep {
  readonly n: number;
  readonly note: SleepEvent;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface Parked {
  /** When the next sleep ends. */
  readonly until: string | undefined;
  /** Withdraws the question; absent if the run may leave memory. */
  readonly recall: AbortController | undefined;
}

/** What is recorded of a question: everything that a later attempt compares. */
function askNote(turn: Turn, question: FunctionQuestion): InternalEvent {
  const { state, choices, schema } = question;
  return {
    kind: "internal:ask",
    taskId: turn.task.id,
    question: questionText(question),
    state,
    ...(choices && { choices }),
    ...(schema && { schema }),
  };
}

/** When the question expires, counted from when it is asked. */
function untilField(turn: Turn, { timeoutMs }: FunctionQuestion): { readonly until?: string } {
  if (timeoutMs === undefined) return {};
  return { until: new Date(turn.now().getTime() + timeoutMs).toISOString() };
}

/** The question in the words that people read. */
function questionText({ prompt, choices }: FunctionQuestion): string {
  return choices === undefined ? prompt : `${prompt} (${choices.join(" / ")})`;
}

interface AskedMessage {
  readonly note: InternalEvent;
  readonly messageId: string;
  /** Why the last answer did not fit. */
  readonly problem?: string | undefined;
}

/** The question: text for people, and data for programs. */
function questionMessage(
  question: FunctionQuestion,
  { note, messageId, problem }: AskedMessage,
): Message {
  const { state, prompt, choices, schema, sensitive = false, credential } = question;
  const { requestId } = note;
  if (question.toMessage !== undefined) {
    return question.toMessage(String(requestId), { messageId, problem });
  }
  const text = problem === undefined ? questionText(question) : problem;
  const data =
    state === "auth-required"
      ? {
          kind: "auth-request",
          requestId,
          prompt,
          ...urlIn(prompt),
          ...(credential !== undefined && { credential, sensitive }),
        }
      : {
          kind: "input-request",
          requestId,
          prompt,
          ...(choices && { options: choices }),
          sensitive,
          ...(schema && { schema }),
        };
  const part = markedPart(EXTENSIONS.clientTools.uri, "input-request", data);
  return agentMessage(messageId, [textPart(text), part]);
}

/** The address at which to sign in, if the text has one. */
function urlIn(text: string): { readonly url?: string } {
  const url = text
    .split(/\s+/)
    .map(webUrl)
    .find((word) => word !== undefined);
  return url === undefined ? {} : { url };
}
