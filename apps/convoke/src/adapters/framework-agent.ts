import {
  type Agent,
  type AgentExtension,
  EXTENSIONS,
  type InternalEvent,
  type Message,
  type Metadata,
  textOfParts,
} from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import {
  type AgentDefinition,
  type FunctionTurn,
  type Yielded,
  defineAgent,
} from "@convoke/runtime";

/** The card of the agent, and how it is served. */
export interface AdapterOptions extends Omit<AgentDefinition, "run" | "restart"> {
  /**
   * Whether a run that a crash interrupted starts again. Default false: the task fails, because the
   * framework's tools may have done their work. A run that waits for an answer always continues.
   */
  readonly restart?: boolean;
}

/** An agent of another framework. */
export interface Framework {
  /** Works on a message until the end, or until it needs an answer. */
  begin(input: FrameworkInput, signal: AbortSignal): FrameworkRun;
  /** Continues from a state that an earlier run has returned. */
  resume(state: unknown, answers: readonly FrameworkAnswer[], signal: AbortSignal): FrameworkRun;
}

export type FrameworkRun = AsyncGenerator<Piece, FrameworkEnd>;

export interface FrameworkInput {
  /** The message. */
  readonly text: string;
  /** The conversation so far, without the message. */
  readonly history: readonly HistoryEntry[];
  /** Identifies the conversation. Two callers never have the same one. */
  readonly threadId: string;
  /** Identifies the caller. */
  readonly owner: string;
}

export interface HistoryEntry {
  readonly role: "user" | "assistant";
  readonly text: string;
}

/** Something that a run shows. A string is a piece of the answer. */
export type Piece =
  | string
  | {
      readonly kind: "tool-call";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: unknown;
    }
  | {
      readonly kind: "tool-result";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly output: unknown;
      readonly isError: boolean;
    };

/** How a run ended: with its answer, or with questions and the state to continue from, as JSON. */
export type FrameworkEnd =
  | { readonly kind: "done" }
  | {
      readonly kind: "asks";
      readonly questions: readonly FrameworkQuestion[];
      readonly state: unknown;
    };

export type FrameworkQuestion =
  | {
      readonly kind: "approval";
      readonly id: string;
      readonly toolName: string;
      readonly arguments: Metadata;
    }
  | { readonly kind: "input"; readonly id: string; readonly prompt: string };

/** The answer to the question with that id: the decision, or the text. */
export type FrameworkAnswer =
  | {
      readonly kind: "approval";
      readonly id: string;
      readonly isApproved: boolean;
      readonly feedback?: string;
    }
  | { readonly kind: "input"; readonly id: string; readonly text: string };

/** Makes an agent of a framework's agent. */
export function frameworkAgent(framework: Framework, options: AdapterOptions): Agent {
  const { restart = false, ...facts } = options;
  return defineAgent({
    ...facts,
    extensions: withOwnExtensions(facts.extensions),
    run: (turn) => runFramework(framework, turn, restart),
  });
}

/**
 * Works on a turn. Each run of the framework is a durable step: while the task waits for an answer,
 * the process may be restarted, and what was done before is not done again.
 */
export async function* runFramework(
  framework: Framework,
  turn: FunctionTurn,
  restart = false,
): AsyncGenerator<Yielded, void> {
  let next = (signal: AbortSignal): FrameworkRun => framework.begin(inputOf(turn), signal);
  for (;;) {
    const end = yield* recordedRun(turn, next, restart);
    if (end.kind === "done") return;
    const answers: FrameworkAnswer[] = [];
    for (const question of end.questions) answers.push(await answerTo(question, turn));
    next = (signal) => framework.resume(end.state, answers, signal);
  }
}

/** The arguments of a call as an object, which approvals show. */
export function toArguments(input: unknown): Metadata {
  const value = typeof input === "string" ? parsed(input) : input;
  return isObject(value) ? value : { input: value };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function withOwnExtensions(given: readonly AgentExtension[] = []): readonly AgentExtension[] {
  const own = [EXTENSIONS.toolActivity, EXTENSIONS.approvals].filter(
    ({ uri }) => !given.some((extension) => extension.uri === uri),
  );
  return [...given, ...own.map(({ uri, description }) => ({ uri, description, required: false }))];
}

function inputOf({ text, conversation, caller, task }: FunctionTurn): FrameworkInput {
  const { owner } = caller;
  return {
    text,
    history: conversation.flatMap(toHistory),
    // Contexts belong to their owner, and two owners may use the same id.
    threadId: JSON.stringify([owner, task.contextId]),
    owner,
  };
}

function toHistory({ role, parts }: Message): readonly HistoryEntry[] {
  const text = textOfParts(parts);
  return text === "" ? [] : [{ role: role === "user" ? "user" : "assistant", text }];
}

/** Runs a step and yields what it shows while it runs. A recorded step yields its text at once. */
async function* recordedRun(
  turn: FunctionTurn,
  run: (signal: AbortSignal) => FrameworkRun,
  restart: boolean,
): AsyncGenerator<Yielded, FrameworkEnd> {
  const pieces = new PieceQueue();
  const step = turn.step(
    "run",
    async (): Promise<unknown> => {
      const source = run(turn.signal);
      let text = "";
      for (;;) {
        const { done, value } = await source.next();
        if (done === true) return { text, end: value };
        if (typeof value === "string") text += value;
        pieces.push(value);
      }
    },
    { idempotent: restart },
  );
  step.then(pieces.close, pieces.close);
  let hasShown = false;
  for await (const piece of pieces) {
    hasShown = true;
    yield typeof piece === "string" ? piece : activity(turn, piece);
  }
  const { text, end } = (await step) as { readonly text: string; readonly end: FrameworkEnd };
  if (!hasShown && text !== "") yield text;
  return end;
}

/** The event that callers with the extension `tool-activity` see. */
function activity({ task, now }: FunctionTurn, piece: Exclude<Piece, string>): InternalEvent {
  const event = { taskId: task.id, timestamp: now().toISOString() };
  const { kind, toolCallId, toolName } = piece;
  if (kind === "tool-result") {
    const { output, isError } = piece;
    const facts = { toolCallId, toolName, success: !isError, output };
    return { kind: "internal:tool-complete", ...event, ...facts };
  }
  const { input } = piece;
  const text = typeof input === "string" ? input : JSON.stringify(input ?? {});
  const content = [{ kind: "tool-call", toolCallId, toolName, input: text }];
  return { kind: "internal:llm-result", ...event, iteration: 0, content };
}

async function answerTo(
  question: FrameworkQuestion,
  { approve, ask }: FunctionTurn,
): Promise<FrameworkAnswer> {
  const { kind, id } = question;
  if (kind === "input") return { kind, id, text: await ask(question.prompt) };
  const { toolName, arguments: given } = question;
  return { kind, id, ...(await approve({ toolName, arguments: given, toolCallId: id })) };
}

/** Passes pieces from a running step to the generator that yields them. */
class PieceQueue {
  readonly #pieces: Piece[] = [];
  #isClosed = false;
  #wake: (() => void) | undefined;

  push(piece: Piece): void {
    this.#pieces.push(piece);
    this.#wake?.();
  }

  readonly close = (): void => {
    this.#isClosed = true;
    this.#wake?.();
  };

  async *[Symbol.asyncIterator](): AsyncGenerator<Piece, void> {
    for (;;) {
      while (this.#pieces.length > 0) yield this.#pieces.shift()!;
      if (this.#isClosed) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
