import { createHash } from "node:crypto";
import { ServerStopping, type Turn, textOfParts } from "@convoke/protocol";
import { answerValues } from "../approvals/check-answer.ts";
import { checkCredentialName } from "../tools/interrupts.ts";
import { type Ask, createAsk } from "./ask.ts";
import { type Approve, decisionOn } from "./approve.ts";
import { artifact, complete, fail, reject, reply, status } from "./function-output.ts";
import { Ends } from "./ends.ts";
import { Journal } from "./journal.ts";
import { type Step, Steps } from "./steps.ts";
import { Takers, TurnPromise } from "./turn-promise.ts";
import { type AnswerReader, type RunHooks, type TurnParts, Waits } from "./waits.ts";

/** The argument of a function agent's `run`. */
export interface FunctionTurn extends Turn {
  /** The text of the message. */
  readonly text: string;
  /**
   * Aborts when the task is canceled or has ended otherwise, such as by its time limit. Not when the
   * server stops: the function never finds out, because another attempt continues it.
   */
  readonly signal: AbortSignal;
  /**
   * Runs something once. A finished step never runs again: after a crash the function starts from
   * the top, and finished steps return their recorded results. The result must be JSON.
   */
  readonly step: Step;
  /**
   * The time of the last thing that is recorded: the begin of the turn, or the end of a step or a wait.
   * The same in every attempt.
   */
  readonly now: () => Date;
  /** A number from 0 to 1, the same in every attempt. */
  readonly random: () => number;
  /** Asks the caller and waits for the answer. */
  readonly ask: Ask;
  readonly approve: Approve;
  /**
   * Reports that the caller must authorize something first, and waits for the caller's next
   * message. Returns its text, or with `credential` the credential that the caller has sent.
   *
   * @example
   * const token = await authRequired("May I read your calendar?", { credential: "calendar" });
   */
  readonly authRequired: (text: string, options?: AuthRequiredOptions) => Promise<string>;
  /** Waits for a time. A restart does not extend the wait. */
  readonly sleep: (ms: number) => Promise<void>;
  readonly status: typeof status;
  readonly artifact: typeof artifact;
  readonly reply: typeof reply;
  readonly complete: typeof complete;
  readonly reject: typeof reject;
  readonly fail: typeof fail;
}

export interface AuthRequiredOptions {
  /**
   * The name of a credential that the caller has to send, such as its token at a third party. It is
   * kept in memory only, and asked for again after a restart of the server. Default none: the caller
   * signs in elsewhere, and its message is stored like any other.
   */
  readonly credential?: string;
}

/** A turn with the helpers for function agents, and what has to be done before the run may end. */
interface FunctionTurnAndEnd {
  readonly turn: FunctionTurn;
  /** Throws what the code has not noticed. Undefined if there is nothing to look at. */
  readonly finish: () => Promise<void> | undefined;
}

export function createFunctionTurn(turn: Turn, hooks: RunHooks): FunctionTurnAndEnd {
  const tools = new TurnTools(turn, hooks);
  return { turn: functionTurn(turn, tools), finish: () => tools.finish() };
}

function functionTurn(turn: Turn, tools: TurnTools): FunctionTurn {
  const step: Step = (name, body, options) =>
    tools.promise("step", (takers) => tools.steps.run(name, body, { ...options, takers }));
  return {
    ...turn,
    // Not an accessor: one in a literal gives each turn a hidden class of its own, which only a full
    // garbage collection frees.
    signal: cancelSignal(turn.signal),
    text: textOfParts(turn.message.parts),
    now: () => tools.now(),
    random: () => tools.random(),
    step,
    ask: createAsk(tools),
    approve: (call) =>
      tools.promise("approve", (takers) => decisionOn(call, { waits: tools.waits, takers }, turn)),
    authRequired: (text, options) =>
      tools.promise("authRequired", (takers) =>
        signedIn({ waits: tools.waits, takers }, text, options),
      ),
    sleep: (ms) => tools.promise("sleep", (takers) => tools.waits.forTime(ms, takers)),
    status,
    artifact,
    reply,
    complete,
    reject,
    fail,
  };
}

/** The journal, steps and waits of a turn. They are created on first use: many functions only answer. */
class TurnTools {
  readonly #turn: Turn;
  readonly #hooks: RunHooks;
  #parts: TurnParts | undefined;
  #steps: Steps | undefined;
  #waits: Waits | undefined;
  readonly #settled = new WeakSet<object>();
  readonly #begin: Date;
  #randoms = 0;
  /** Promises that may fail unnoticed. */
  readonly #unnoticed = new Map<Takers, Promise<unknown>>();

  constructor(turn: Turn, hooks: RunHooks) {
    this.#turn = turn;
    this.#hooks = hooks;
    this.#begin = turn.startedAt ?? turn.now();
  }

  now(): Date {
    return this.#parts?.ends.time ?? new Date(this.#begin);
  }

  random(): number {
    const { task, message } = this.#turn;
    const seed = `${task.id}:${message.messageId}:${++this.#randoms}`;
    return createHash("sha256").update(seed).digest().readUIntBE(0, 6) / 2 ** 48;
  }

  get steps(): Steps {
    return (this.#steps ??= new Steps(this.#turn, this.#shared()));
  }

  get waits(): Waits {
    return (this.#waits ??= new Waits(this.#turn, this.#shared()));
  }

  promise<T>(name: string, start: (takers: Takers) => Promise<T>): Promise<T> {
    const { scope } = this.#hooks;
    try {
      scope.check(name);
    } catch (error) {
      return this.#watched(new Takers(name, this.#settled), Promise.reject(error as Error));
    }
    const takers = new Takers(name, this.#settled);
    return this.#watched(takers, start(takers));
  }

  #watched<T>(takers: Takers, promise: Promise<T>): Promise<T> {
    this.#unnoticed.set(takers, promise);
    promise.then(
      () => this.#unnoticed.delete(takers),
      () => void (takers.hasFailed = true),
    );
    return new TurnPromise(takers, promise);
  }

  /** A step that nothing waits for is waited for here, and an error that nobody has noticed is thrown. */
  finish(): Promise<void> | undefined {
    const unnoticed = [...this.#unnoticed].filter(
      ([takers]) => !takers.isTaken && takers.name === "step",
    );
    const failed = [...this.#unnoticed].filter(([takers]) => !takers.isTaken && takers.hasFailed);
    const all = [...unnoticed, ...failed];
    if (all.length === 0) return undefined;
    return Promise.all(all.map(([, promise]) => promise)).then(() => this.finish());
  }

  #shared(): TurnParts {
    if (this.#parts === undefined) {
      const journal = new Journal(this.#turn.journal);
      this.#parts = {
        journal,
        ends: new Ends(journal, this.#hooks, this.#begin),
        hooks: this.#hooks,
      };
    }
    return this.#parts;
  }
}

/** Aborts as the given signal does, except when the server stops. */
function cancelSignal(signal: AbortSignal): AbortSignal {
  const canceled = new AbortController();
  const abort = (): void => {
    if (!ServerStopping.isSilent(signal.reason)) canceled.abort(signal.reason);
  };
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return canceled.signal;
}

function signedIn(
  { waits, takers }: { readonly waits: Waits; readonly takers: Takers },
  prompt: string,
  { credential }: AuthRequiredOptions = {},
): Promise<string> {
  checkCredentialName(credential);
  const question = { state: "auth-required", prompt } as const;
  if (credential === undefined) {
    const read: AnswerReader<string> = async ({ parts }) => ({
      ok: true,
      value: textOfParts(parts),
    });
    return waits.forCaller({ ...question, unanswered: "" }, read, takers);
  }
  // Asks until the caller sends something.
  const read: AnswerReader<string> = async (message, requestId) => {
    const [value] = answerValues(message, requestId);
    const text = (typeof value === "string" ? value : textOfParts(message.parts)).trim();
    return text === ""
      ? { ok: false, problem: `No credential was sent.\n${prompt}` }
      : { ok: true, value: text };
  };
  return waits.forCaller({ ...question, credential, sensitive: true }, read, takers);
}
