import {
  AgentChanged,
  type AgentEvent,
  EXTENSIONS,
  type InternalEvent,
  type Message,
  type Turn,
  agentMessage,
  isFinal,
  textOfParts,
  textPart,
} from "@convoke/protocol";
import { isDeepStrictEqual } from "node:util";
import { answerValues, isRedacted } from "../approvals/check-answer.ts";
import { markedPart } from "../approvals/open-request.ts";
import type { Secrets } from "../approvals/secrets.ts";
import type { JsonSchema } from "../model/model.ts";
import { webUrl } from "../tools/interrupts.ts";
import type { Journal, Wait } from "./journal.ts";

/** What a turn needs from its run. */
export interface RunHooks {
  /** Appends events; resolves when they are durable. */
  readonly say: (events: readonly AgentEvent[]) => Promise<void>;
  /** Announces something that begins, see `Turn.begin`. */
  readonly begin: (name: string, start?: InternalEvent) => Promise<() => Promise<void>>;
  /**
   * Ends the run with the error. The function is left where it stands: it could catch an error, and
   * go on with an answer to another question.
   */
  readonly giveUp: (error: unknown) => Promise<never>;
  /** The agent's own time limit for answers, if it has one. */
  readonly inputTimeoutMs: number | undefined;
  /** The sensitive answers of the run. */
  readonly secrets: Secrets;
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
 * returns its recorded answer immediately, and a question that was already asked is not asked
 * again. A turn waits for one thing at a time; further waits are queued.
 */
export class Waits {
  readonly #turn: Turn;
  readonly #journal: Journal;
  readonly #hooks: RunHooks;
  #count = 0;
  #line: Promise<unknown> = Promise.resolve();

  constructor(turn: Turn, journal: Journal, hooks: RunHooks) {
    this.#turn = turn;
    this.#journal = journal;
    this.#hooks = hooks;
  }

  /**
   * Asks the caller until an answer fits. Throws a `NoAnswerError` if none came in time. A sensitive
   * answer of an earlier attempt is lost, because it was not stored, so it is asked for again.
   */
  forCaller<T>(question: FunctionQuestion, read: AnswerReader<T>): Promise<T> {
    return this.#inLine(async (n) => {
      // An id is taken even if nothing is asked, so that later ids are the same in every attempt.
      const id = this.#turn.id();
      const note = askNote(this.#turn, question, `${id}:${n + 1}`);
      const earlier = await this.#recorded(n, note);
      let ended: EndedWait;
      if (earlier === undefined) ended = await this.#ask(question, { note, messageId: id });
      else ended = earlier.isOver ? earlier : await this.#answerTo(earlier.note);
      for (let asks = earlier?.asks ?? 1; ; asks += 1) {
        const answer = await this.#read(ended, question, read);
        if (answer.ok) return answer.value;
        ended = await this.#ask(question, {
          // It continues this wait, whichever waits were recorded after it.
          note: { ...note, n },
          messageId: `${id}-${asks + 1}`,
          problem: answer.problem,
        });
      }
    });
  }

  /** Waits for a time. A restart of the server does not extend the wait. */
  forTime(ms: number): Promise<void> {
    return this.#inLine(async (n) => {
      const { now, task, park } = this.#turn;
      const until = new Date(now().getTime() + ms).toISOString();
      const note = { kind: "internal:sleep", taskId: task.id, until } as const;
      const earlier = await this.#recorded(n, note);
      if (earlier?.isOver === true) return;
      if (earlier === undefined) await this.#hooks.say([note]);
      await park(new Date(String((earlier?.note ?? note)["until"])));
    });
  }

  #inLine<T>(wait: (n: number) => Promise<T>): Promise<T> {
    const n = this.#count++;
    const next = this.#line.then(() => wait(n));
    this.#line = next.catch(() => undefined);
    return next;
  }

  /** The wait at this place of the journal, which must be the one that the code requests. */
  async #recorded(n: number, requested: InternalEvent): Promise<Wait | undefined> {
    const earlier = this.#journal.wait(n);
    if (earlier === undefined || isSameWait(earlier.note, requested)) return earlier;
    const changed = { recorded: waitText(earlier.note), requested: waitText(requested) };
    return this.#hooks.giveUp(new AgentChanged(changed));
  }

  async #ask(question: FunctionQuestion, asking: Asking): Promise<EndedWait> {
    const { id: taskId, contextId } = this.#turn.task;
    const { state } = question;
    const status = { state, message: questionMessage(question, asking) };
    const final = isFinal(state);
    await this.#hooks.say([
      asking.note,
      { kind: "status-update", taskId, contextId, status, final },
    ]);
    return this.#answerTo(asking.note);
  }

  async #answerTo(note: InternalEvent): Promise<EndedWait> {
    const message = await this.#turn.park();
    return { note, message, endedAt: this.#turn.resumedAt ?? this.#turn.now() };
  }

  async #read<T>(
    { note, message, endedAt }: EndedWait,
    { timeoutMs = 0, sensitive = false }: FunctionQuestion,
    read: AnswerReader<T>,
  ): Promise<ReadAnswer<T>> {
    const { until, requestId = "" } = note;
    if (message === undefined) {
      const isOwn =
        typeof until === "string" && endedAt !== undefined && new Date(until) <= endedAt;
      throw new NoAnswerError(isOwn ? timeoutMs : (this.#hooks.inputTimeoutMs ?? timeoutMs));
    }
    if (isRedacted(message, String(requestId))) return { ok: false };
    if (sensitive) {
      const values = answerValues(message, String(requestId));
      this.#hooks.secrets.addAll([textOfParts(message.parts), ...values]);
    }
    return read(message, String(requestId));
  }
}

/** A wait that is over. */
type EndedWait = Pick<Wait, "note" | "message" | "endedAt">;

interface Asking {
  readonly note: InternalEvent;
  readonly messageId: string;
  /** Why the last answer did not fit. */
  readonly problem?: string | undefined;
}

/** What is recorded of a question: everything that a later attempt compares, and its id. */
function askNote(turn: Turn, question: FunctionQuestion, requestId: string): InternalEvent {
  const { state, choices, schema, timeoutMs } = question;
  return {
    kind: "internal:ask",
    taskId: turn.task.id,
    question: questionText(question),
    state,
    requestId,
    ...(choices && { choices }),
    ...(schema && { schema }),
    ...(timeoutMs !== undefined && {
      until: new Date(turn.now().getTime() + timeoutMs).toISOString(),
    }),
  };
}

/** The fields of a question that must not change. Earlier versions recorded only its text. */
const COMPARED = ["question", "state", "choices", "schema"] as const;

/**
 * Whether a recorded wait is the one that the code requests now. The length of a sleep may differ,
 * because it has no answer that could be misunderstood.
 */
function isSameWait(recorded: InternalEvent, requested: InternalEvent): boolean {
  if (recorded.kind !== requested.kind) return false;
  if (recorded.kind === "internal:sleep") return true;
  const compared = recorded["state"] === undefined ? COMPARED.slice(0, 1) : COMPARED;
  return compared.every((field) => isDeepStrictEqual(recorded[field], requested[field]));
}

/** A wait as the code that requests it, for the operator's log. */
function waitText({ kind, question, state, schema }: InternalEvent): string {
  if (kind === "internal:sleep") return "sleep(…)";
  const name = state === "auth-required" ? "authRequired" : "ask";
  const more = schema === undefined ? "" : `, { schema: ${JSON.stringify(schema)} }`;
  return `${name}(${JSON.stringify(question)}${more})`;
}

/** The question in the words that people read. */
function questionText({ prompt, choices }: FunctionQuestion): string {
  return choices === undefined ? prompt : `${prompt} (${choices.join(" / ")})`;
}

/** The question: text for people, and data for programs. */
function questionMessage(
  question: FunctionQuestion,
  { note, messageId, problem }: Asking,
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
