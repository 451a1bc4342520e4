import { type Model, ModelError, type ModelEvent, type Tool } from "@convoke/runtime";
import {
  LoopEndError,
  type Secrets,
  type Tape,
  type TapedCall,
  type ToolOutcome,
  jsonSchemaCheck,
} from "@convoke/runtime/testing";
import { lineText } from "../screen/cells.ts";
import { renderDiff } from "../screen/diff.ts";
import {
  type ForeignTool,
  type PlainRequest,
  type RecordedCall,
  type RecordedContent,
  type RecordedModelCall,
  type RecordedToolCall,
  type Recording,
  isSame,
  plainRequest,
} from "./recording.ts";

/** The agent did something else than when it was recorded. The message has the difference. */
export class ReplayError extends Error {
  override readonly name = "ReplayError";
}

interface ModelEntry {
  readonly call: RecordedModelCall;
  /** The request in full. */
  readonly request: PlainRequest;
}

/** Answers from a recording. Nothing is asked for real, and no tool runs. */
export class Player implements Tape {
  readonly #file: string;
  readonly #secrets: Secrets;
  readonly #foreignTools: readonly ForeignTool[];
  readonly #models: readonly ModelEntry[];
  readonly #tools: readonly RecordedToolCall[];
  readonly #played = new Set<RecordedCall>();
  #problem: ReplayError | undefined;

  constructor(file: string, { foreignTools = [], calls }: Recording, secrets: Secrets) {
    this.#file = file;
    this.#secrets = secrets;
    this.#foreignTools = foreignTools;
    this.#models = wholeRequests(calls.filter((call) => call.kind === "model"));
    this.#tools = calls.filter((call) => call.kind === "tool");
  }

  async model(): Promise<Model> {
    const { model: id = "replay", contextTokens } = this.#next()?.call ?? {};
    return {
      id,
      ...(contextTokens !== undefined && { contextTokens }),
      stream: (request) => this.#answer(plainRequest(request)),
    };
  }

  async foreignTools(): Promise<readonly Tool[]> {
    return this.#foreignTools.map((described) => ({
      ...described,
      // A call that is not in the recording was not approved, so it was asked for.
      confirm: ({ toolName, input }) => {
        const call = this.#tools.find(
          (one) => one.toolName === toolName && isSame(one.input, input),
        );
        return call === undefined || call.approved === true ? "ask" : "allow";
      },
      idempotent: true,
      timeoutMs: MAX_MS,
      check: jsonSchemaCheck(described.inputSchema),
      run: () => undefined,
    }));
  }

  async call(call: TapedCall): Promise<ToolOutcome> {
    const { toolCallId, toolName } = call;
    const input = this.#secrets.hide(call.hide(call.input));
    const recorded = this.#tools.find(
      (one) => one.toolCallId === toolCallId && !this.#played.has(one),
    );
    const now = { toolName, input };
    if (recorded === undefined) {
      throw this.#fail(`The agent runs a tool that did not run when it was recorded.`, {}, now);
    }
    this.#played.add(recorded);
    const then = { toolName: recorded.toolName, input: recorded.input };
    if (!isSame(then, now)) {
      throw this.#fail(`The agent runs ${toolName} with other arguments.`, then, now);
    }
    for (const event of recorded.events ?? []) call.show(event);
    return outcomeOf(recorded);
  }

  /** Throws if the agent did something else, or less, than when it was recorded. */
  finish(): void {
    if (this.#problem !== undefined) throw this.#problem;
    const rest = [...this.#models.map(({ call }) => call), ...this.#tools].filter(
      (call) => !this.#played.has(call),
    );
    if (rest.length === 0) return;
    const names = rest.map((call) =>
      call.kind === "model"
        ? `model answer ${this.#models.findIndex((one) => one.call === call) + 1}`
        : `${call.toolName} (${call.toolCallId})`,
    );
    throw new ReplayError(
      `The agent ended before the recording ${this.#file} did. Not asked for: ${names.join(", ")}. ${RENEW}`,
    );
  }

  async *#answer(request: PlainRequest): AsyncGenerator<ModelEvent, void> {
    const entry = this.#next();
    const now = this.#secrets.hide(request);
    if (entry === undefined) {
      const count = this.#models.length;
      const last = this.#models.at(-1)?.request ?? {};
      throw this.#fail(`The agent asks the model again after all ${count} answers.`, last, now);
    }
    this.#played.add(entry.call);
    if (!isSame(entry.request, now)) {
      const number = this.#models.indexOf(entry) + 1;
      throw this.#fail(`Request ${number} to the model is another one.`, entry.request, now);
    }
    const { answer, error } = entry.call;
    if (error !== undefined) throw new ModelError(error.kind, error.message);
    if (answer === undefined) throw new ModelError("refused", "the recording has no answer");
    for (const content of answer.content) yield* eventsOf(content);
    yield { kind: "finish", reason: answer.finish, usage: answer.usage };
  }

  #next(): ModelEntry | undefined {
    return this.#models.find(({ call }) => !this.#played.has(call));
  }

  /** Ends the task. The caller of `say` gets the first difference. */
  #fail(what: string, then: unknown, now: unknown): LoopEndError {
    const legend = `- in the recording ${this.#file}\n+ in this run`;
    const text = `${what}\n${legend}\n${difference(then, now)}\n${RENEW}`;
    this.#problem ??= new ReplayError(text);
    return new LoopEndError({ state: "failed", text, metadata: { reason: "replay" } });
  }
}

const RENEW = "If the change is intended, record it again.";

/** A call is answered at once; this is the longest time that a timer can have. */
const MAX_MS = 2 ** 31 - 1;

/** Wide enough that lines are hardly ever broken. */
const WIDTH = 500;

function difference(then: unknown, now: unknown): string {
  return renderDiff(toLines(then), toLines(now), WIDTH).map(lineText).join("\n");
}

/** Line breaks inside of texts become lines, because a prompt is one text with many lines. */
function toLines(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(String.raw`\n`, "\n");
}

/** The requests in full: the recording leaves out what is the same as in the request before. */
function wholeRequests(calls: readonly RecordedModelCall[]): readonly ModelEntry[] {
  let before: PlainRequest = { prompt: { tools: {} }, messages: [] };
  return calls.map((call) => {
    const { prompt = before.prompt, keeps = 0, messages } = call;
    before = { prompt, messages: [...before.messages.slice(0, keeps), ...messages] };
    return { call, request: before };
  });
}

function* eventsOf(content: RecordedContent): Generator<ModelEvent, void> {
  switch (content.kind) {
    case "tool-call": {
      const { input } = content;
      yield { ...content, input: typeof input === "string" ? input : JSON.stringify(input) };
      return;
    }
    case "reasoning":
      yield { kind: "reasoning", text: content.text };
      yield { kind: "reasoning-end" };
      return;
    case "text":
      yield { kind: "text", text: content.text };
      return;
    case "source":
    case "file":
      yield content;
  }
}

function outcomeOf({ result, error, interrupts }: RecordedToolCall): ToolOutcome {
  if (error !== undefined) return { kind: "error", text: error };
  if (interrupts !== undefined) return { kind: "interrupts", interrupts };
  return { kind: "result", value: result ?? null };
}
