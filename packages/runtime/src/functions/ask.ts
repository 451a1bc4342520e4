import { A2AError, type Message } from "@convoke/protocol";
import { answerValues, checkAnswer } from "../approvals/check-answer.ts";
import {
  type AnswerOf,
  type AnswerSchema,
  type InputSchema,
  answerSchema,
} from "../tools/tool-input.ts";
import { CHOICE_AGAIN } from "./journal.ts";
import type { Takers } from "./turn-promise.ts";
import type { AnswerReader, FunctionQuestion, Waits } from "./waits.ts";

export interface AskOptions {
  /**
   * The form of the answer: any Standard Schema (zod, valibot, arktype, …) or a JSON Schema. An
   * answer that does not fit is rejected, and the question stays open. Default: any text.
   */
  readonly schema?: InputSchema;
  /**
   * Keeps the answer in memory only: it is not stored in the history, the journal, a log or a
   * notification. After a restart of the server it is asked for again. Default false.
   */
  readonly sensitive?: boolean;
  /**
   * How long to wait for the answer, in milliseconds. Then `ask` throws a `NoAnswerError`. Default:
   * as long as the agent's `inputTimeout` says, or for ever.
   */
  readonly timeoutMs?: number;
}

type WithSchema<Schema> = AskOptions & { readonly schema: Schema };
type WithoutSchema = AskOptions & { readonly schema?: undefined };

/**
 * Asks the caller and waits for the answer for as long as it takes; a question survives restarts.
 *
 * @example
 * const name = await ask("What is your name?");
 * const decision = await ask("Refund 30 EUR?", ["yes", "no"]); // "yes" | "no"
 * const { age } = await ask("How old are you?", { schema: z.object({ age: z.number() }) });
 */
export interface Ask {
  /** With choices, returns the one that was chosen, in the agent's own spelling. */
  <const Choice extends string>(
    question: string,
    choices: readonly Choice[],
    options?: WithoutSchema,
  ): Promise<Choice>;
  /** With a schema, returns what it makes of the answer. */
  <Schema extends InputSchema>(
    question: string,
    options: WithSchema<Schema>,
  ): Promise<AnswerOf<Schema>>;
  <Schema extends InputSchema>(
    question: string,
    choices: undefined,
    options: WithSchema<Schema>,
  ): Promise<AnswerOf<Schema>>;
  /**
   * Otherwise returns the text of the answer. It is "" if no answer came within the agent's
   * `inputTimeout` and that says `onTimeout: "continue"`; the other forms then throw a
   * `NoAnswerError`.
   */
  (question: string, options?: WithoutSchema): Promise<string>;
  (question: string, choices: undefined, options?: WithoutSchema): Promise<string>;
  /**
   * Asks in the same way, and returns the whole message of the caller, with its files and data. It
   * still has to fit the choices or the schema, if there are any.
   */
  readonly message: (
    question: string,
    choices?: readonly string[] | AskOptions,
    options?: AskOptions,
  ) => Promise<Message>;
}

/** Creates the `ask` of a turn. */
export function createAsk(tools: WaitTools): Ask {
  const ask = (question: string, second?: Second, third?: AskOptions): Promise<unknown> => {
    const asked = askedQuestion(question, second, third);
    return tools.promise("ask", (takers) => tools.waits.forCaller(asked, asked.read, takers));
  };
  const message = (question: string, second?: Second, third?: AskOptions): Promise<Message> => {
    const { unanswered: _, ...asked } = askedQuestion(question, second, third);
    return tools.promise("ask.message", (takers) =>
      tools.waits.forCaller(asked, messageReader(asked), takers),
    );
  };
  return Object.assign(ask as Ask, { message });
}

/** What asks and waits need of their turn. */
export interface WaitTools {
  readonly waits: Waits;
  /** Creates the promise that the code gets. */
  promise<T>(name: string, start: (takers: Takers) => Promise<T>): Promise<T>;
}

function messageReader(asked: AskedQuestion): AnswerReader<Message> {
  return async (answer, requestId) => {
    const read = await asked.read(answer, requestId);
    return read.ok ? { ok: true, value: answer } : read;
  };
}

type Second = readonly string[] | AskOptions | undefined;

interface AskedQuestion extends FunctionQuestion {
  readonly read: AnswerReader<unknown>;
}

/** Validates the arguments of `ask`. */
function askedQuestion(prompt: string, second: Second, third: AskOptions = {}): AskedQuestion {
  if (typeof prompt !== "string" || prompt.trim() === "") {
    throw new TypeError("ask needs a question: ask(question, choices?, options?)");
  }
  const isChoice = Array.isArray(second);
  const choices = isChoice && second.length > 0 ? (second as readonly string[]) : undefined;
  const options = isChoice ? third : { ...(second as AskOptions | undefined), ...third };
  const { sensitive, timeoutMs } = options;
  if (choices?.some((choice) => typeof choice !== "string") === true) {
    throw new TypeError(`the choices of ask(${JSON.stringify(prompt)}) must be strings`);
  }
  if (choices !== undefined && options.schema !== undefined) {
    throw new TypeError(`ask(${JSON.stringify(prompt)}) takes choices or a schema, not both`);
  }
  if (timeoutMs !== undefined && !(Number.isSafeInteger(timeoutMs) && timeoutMs > 0)) {
    throw new TypeError(`timeoutMs of ask must be a whole number above 0, not ${timeoutMs}`);
  }
  const schema = options.schema && answerSchema(options.schema);
  const question = { state: "input-required", prompt, choices, sensitive, timeoutMs } as const;
  const check = schema?.check;
  const isText = timeoutMs === undefined && choices === undefined && check === undefined;
  return {
    ...question,
    schema: schema?.json,
    ...(isText && { unanswered: "" }),
    read: answerReader(question, check),
  };
}

/**
 * Reads an answer. The server has rejected most of those that do not fit, but not what an earlier
 * version accepted, and not what only the schema library can tell.
 */
function answerReader(
  { prompt, choices, sensitive = false }: FunctionQuestion,
  check: AnswerSchema["check"] | undefined,
): AnswerReader<unknown> {
  if (check !== undefined) {
    return async (message, requestId) => {
      let problems: readonly string[] = [];
      for (const value of answerValues(message, requestId)) {
        const checked = await check(value);
        if (checked.ok) return { ok: true, value: checked.input };
        ({ problems } = checked);
      }
      // A schema library may repeat the value in its message.
      const why = sensitive ? "" : `: ${problems.join("; ")}`;
      return { ok: false, problem: `That does not fit${why}.\n${prompt}` };
    };
  }
  return async (message, requestId) => {
    const request = {
      kind: "input",
      requestId,
      toolCallId: requestId,
      prompt,
      sensitive,
      ...(choices && { options: choices }),
    } as const;
    try {
      const answer = checkAnswer([request], withoutUnknownIds(message, requestId), AT_ANY_TIME);
      const input = answer.kind === "answers" ? answer.inputs.get(requestId) : undefined;
      return { ok: true, value: input?.text ?? "" };
    } catch (error) {
      if (!A2AError.is(error)) throw error;
      return { ok: false, problem: `${CHOICE_AGAIN}${choices?.join(", ") ?? ""}.` };
    }
  };
}

/** Only approvals expire. */
const AT_ANY_TIME = { now: new Date(0) };

/** Questions of earlier versions have no id, and only text answers them. */
function withoutUnknownIds(message: Message, requestId: string): Message {
  if (requestId !== "") return message;
  return { ...message, parts: message.parts.filter(({ kind }) => kind === "text") };
}
