import { ServerStopping, type Turn, textOfParts } from "@convoke/protocol";
import { answerValues } from "../approvals/check-answer.ts";
import { checkCredentialName } from "../tools/interrupts.ts";
import { type Ask, createAsk, guarded } from "./ask.ts";
import { type Approve, decisionOn } from "./approve.ts";
import { artifact, complete, fail, reject, reply, status } from "./function-output.ts";
import { Journal } from "./journal.ts";
import { type Step, Steps } from "./steps.ts";
import { NoAnswerError, type RunHooks, Waits } from "./waits.ts";

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

/** Adds the helpers for function agents to a turn. */
export function createFunctionTurn(turn: Turn, hooks: RunHooks): FunctionTurn {
  const tools = new TurnTools(turn, hooks);
  const step: Step = (name, body, options) => guarded("step", tools.steps.run(name, body, options));
  return {
    ...turn,
    get signal() {
      return tools.signal;
    },
    text: textOfParts(turn.message.parts),
    step,
    ask: createAsk(tools),
    approve: (call) => guarded("approve", decisionOn(call, tools, turn)),
    authRequired: (text, options) => guarded("authRequired", signedIn(tools.waits, text, options)),
    sleep: (ms) => guarded("sleep", tools.waits.forTime(ms)),
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
  #journal: Journal | undefined;
  #steps: Steps | undefined;
  #waits: Waits | undefined;
  #signal: AbortSignal | undefined;

  constructor(turn: Turn, hooks: RunHooks) {
    this.#turn = turn;
    this.#hooks = hooks;
  }

  get steps(): Steps {
    return (this.#steps ??= new Steps(this.#turn, this.#read(), this.#hooks, () => this.signal));
  }

  get signal(): AbortSignal {
    return (this.#signal ??= cancelSignal(this.#turn.signal));
  }

  get waits(): Waits {
    return (this.#waits ??= new Waits(this.#turn, this.#read(), this.#hooks));
  }

  #read(): Journal {
    return (this.#journal ??= new Journal(this.#turn.journal));
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

async function signedIn(
  waits: Waits,
  prompt: string,
  { credential }: AuthRequiredOptions = {},
): Promise<string> {
  checkCredentialName(credential);
  if (credential !== undefined) return credentialFrom(waits, prompt, credential);
  try {
    return await waits.forCaller({ state: "auth-required", prompt }, async ({ parts }) => ({
      ok: true,
      value: textOfParts(parts),
    }));
  } catch (error) {
    if (error instanceof NoAnswerError) return "";
    throw error;
  }
}

/** Asks until the caller sends something. */
function credentialFrom(waits: Waits, prompt: string, credential: string): Promise<string> {
  const question = { state: "auth-required", prompt, credential, sensitive: true } as const;
  return waits.forCaller(question, async (message, requestId) => {
    const [value] = answerValues(message, requestId);
    const text = (typeof value === "string" ? value : textOfParts(message.parts)).trim();
    return text === ""
      ? { ok: false, problem: `No credential was sent.\n${prompt}` }
      : { ok: true, value: text };
  });
}
