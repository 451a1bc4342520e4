import type { A2APart, FileContent, TurnFiles } from "@convoke/protocol";
import { MAX_TIMER_MS } from "@convoke/protocol/internal";
import { setTimeout as sleep } from "node:timers/promises";
import { AnswerStream } from "../model/answer-stream.ts";
import { ModelError } from "../model/model-error.ts";
import type {
  AssistantContent,
  Model,
  ModelEvent,
  ModelRequest,
  ModelUsage,
  ToolResultEntry,
  TranscriptEntry,
} from "../model/model.ts";
import { stoppable } from "../tools/stoppable.ts";
import type { AnswerTarget } from "./answer-artifact.ts";
import { AnswerCollector, type MadeFile } from "./answer-collector.ts";
import type { AgentModel } from "../run/agent-models.ts";
import { retryWaitMs } from "../run/backoff.ts";
import { costOf } from "../run/usage.ts";
import { type ModelSpan, withModelSpan } from "./gen-ai-spans.ts";
import { callHook, callHookNow, isVeto } from "../run/hooks.ts";
import type { LlmCallEvent, LlmResultEvent, Source } from "../run/loop-events.ts";
import { VetoError } from "../run/loop-failure.ts";
import type { LoopScope } from "../run/loop-scope.ts";
import { outputInstructions } from "./structured-output.ts";
import { type Trimmed, tokensOf, transcriptTokens, trim } from "./trim.ts";
import type { TurnTools } from "./turn-tools.ts";

/** What the model said in one iteration. */
export type ModelAnswer = Pick<
  LlmResultEvent,
  "content" | "finish" | "usage" | "sources" | "model"
>;

interface Asked {
  readonly iteration: number;
  readonly transcript: readonly TranscriptEntry[];
  /** The index of the message that the task is about. */
  readonly subject: number;
}

/** One request of an iteration. */
interface Attempt {
  readonly iteration: number;
  readonly attempt: number;
}

/** Share of the context window that is kept free for the answer and for estimation errors. */
const FREE_SHARE = 0.1;

/** A chunk with this many characters is not made any longer: one more text makes it hardly cheaper. */
const LONG_CHUNK = 2048;

/**
 * Calls the model, retries where that may help, changes to the next model where only that helps, and
 * streams the text into the answer.
 */
export class ModelCalls {
  readonly #scope: LoopScope;
  readonly #tools: TurnTools;
  readonly #artifact: AnswerTarget;
  readonly #callIds = new Set<string>();

  constructor(scope: LoopScope, tools: TurnTools, artifact: AnswerTarget) {
    this.#scope = scope;
    this.#tools = tools;
    this.#artifact = artifact;
  }

  /** The model's answer: replayed from the journal if it is recorded there, otherwise a new one. */
  async answer(asked: Asked): Promise<ModelAnswer> {
    const noted = this.#scope.journal.result(asked.iteration);
    if (noted !== undefined) this.#artifact.add(textOfContent(noted.content));
    else if (this.#scope.journal.attempts(asked.iteration) > 0) this.#artifact.mayBeStale();
    const answer = noted ?? (await this.#ask(asked));
    this.#artifact.keep();
    for (const content of answer.content) {
      if (content.kind === "tool-call") this.#callIds.add(content.toolCallId);
    }
    return answer;
  }

  /** Asks the model, and the next ones if it cannot answer. */
  async #ask(asked: Asked): Promise<ModelAnswer> {
    for (;;) {
      const { model: current } = this.#scope;
      try {
        const model = await this.#open(asked);
        // All attempts of one model share a span, as the conventions for models say.
        const work = (span: ModelSpan | undefined) => this.#askAgain(asked, model, span);
        return await withModelSpan(this.#scope, model, work);
      } catch (error) {
        if (this.#scope.model === current) throw error;
      }
    }
  }

  async #open({ iteration }: Asked): Promise<Model> {
    const { model, journal, tape } = this.#scope;
    try {
      const open = (): Promise<Model> => model.resolve();
      return await (tape === undefined ? open() : tape.model(open));
    } catch (error) {
      const attempt = journal.attempts(iteration);
      const next = this.#nextModel(error);
      if (next !== undefined) this.#change(next, { iteration, attempt }, error as ModelError);
      throw error;
    }
  }

  /** The model to use instead, if another one may help and there is one. */
  #nextModel(error: unknown): AgentModel | undefined {
    const { settings, model } = this.#scope;
    const isCurable = error instanceof ModelError && error.isCurableElsewhere;
    return isCurable ? settings.models.after(model) : undefined;
  }

  /** Changes the model for the rest of the turn: a provider that is down rarely recovers soon. */
  #change(next: AgentModel, at: Attempt, error: ModelError): void {
    const { settings, turn, model } = this.#scope;
    const problem = error.message;
    this.#scope.note({
      kind: "internal:llm-retry",
      ...at,
      problem,
      waitMs: 0,
      nextModel: next.id,
    });
    const facts = { taskId: turn.task.id, model: model.id, nextModel: next.id, ...at };
    settings.log.failed("a model cannot answer, and the next one is used", facts, error);
    this.#scope.model = next;
  }

  async #askAgain(asked: Asked, model: Model, span: ModelSpan | undefined): Promise<ModelAnswer> {
    const { journal, settings, turn, signal } = this.#scope;
    const { iteration } = asked;
    const retries = journal.retries(iteration);
    const givenUp = retries.find(({ isGivenUp }) => isGivenUp === true);
    if (givenUp !== undefined) throw new ModelError("refused", givenUp.problem);
    // A request that was too long is shortened and retried immediately; it does not count as a
    // failure.
    let failures = retries.filter(({ waitMs }) => waitMs > 0).length;
    let attempt = journal.attempts(iteration);
    let least = journal.trimmed(iteration);
    let mustTrim = least;
    const id = `model-${iteration}`;
    for (;;) {
      await this.#tools.look();
      const trimmed = this.#fit(asked, model, mustTrim);
      if (trimmed.left > least) {
        this.#scope.note({ kind: "internal:trimmed", iteration, entries: trimmed.left });
      }
      least = trimmed.left;
      const request = await this.#request(trimmed.entries);
      await this.#scope.begin(id, `a call of the model ${model.id}`);
      attempt += 1;
      const sent = describeRequest(request);
      this.#scope.note({ kind: "internal:llm-call", iteration, attempt, model: model.id, ...sent });
      const collector = new AnswerCollector(this.#callIds);
      try {
        span?.asked(request);
        const answer = await this.#stream({ iteration, attempt }, model, request, collector);
        span?.answered(answer);
        this.#scope.ended(id);
        return answer;
      } catch (error) {
        this.#scope.ended(id);
        signal.throwIfAborted();
        if (!(error instanceof ModelError)) throw error;
        settings.log.metrics.count("modelCalls", [settings.agentName, model.id, error.kind]);
        span?.failed(error, attempt);
        this.#artifact.breakOff();
        const note = { kind: "internal:llm-retry", iteration, attempt } as const;
        const problem = error.message;
        const shorter = least + Math.ceil((asked.transcript.length - least) / 3);
        if (error.kind === "too-long" && this.#fit(asked, model, shorter).left > least) {
          this.#scope.note({ ...note, problem, waitMs: 0 });
          mustTrim = shorter;
          continue;
        }
        failures += 1;
        const { attempts, firstWaitMs, maxWaitMs } = settings.retry;
        const { retryAfterMs } = error;
        const seed = `${turn.task.id}:${iteration}`;
        const waitMs = retryWaitMs(failures, { firstWaitMs, seed, retryAfterMs });
        if (!error.isPassing || failures >= attempts || waitMs > maxWaitMs) {
          // What was already streamed cannot be continued by another model.
          const next = collector.isEmpty ? this.#nextModel(error) : undefined;
          if (next !== undefined) this.#change(next, { iteration, attempt }, error);
          else this.#scope.note({ ...note, problem, waitMs: 0, isGivenUp: true });
          throw error;
        }
        this.#scope.note({ ...note, problem, waitMs });
        const facts = { taskId: turn.task.id, model: model.id, iteration, attempt, waitMs };
        settings.log.failed("a model call failed and is repeated", facts, error);
        const waits = sleep(Math.min(waitMs, MAX_TIMER_MS), undefined, { signal });
        await waits.catch(() => signal.throwIfAborted());
      }
    }
  }

  /** The part of the transcript that fits into the context window. */
  #fit({ transcript, subject }: Asked, { contextTokens }: Model, least: number): Trimmed {
    if (contextTokens === undefined && least === 0) return { entries: transcript, left: 0 };
    const { maxOutputTokens = 0 } = this.#scope.settings;
    const fixed = tokensOf((this.#instructions() ?? "") + JSON.stringify(this.#tools.box.offer()));
    const space = (contextTokens ?? Number.POSITIVE_INFINITY) * (1 - FREE_SHARE);
    return trim(transcript, { maxTokens: space - maxOutputTokens - fixed, least, subject });
  }

  #instructions(): string | undefined {
    const { settings, turn } = this.#scope;
    const { instructions, output } = settings;
    const own =
      typeof instructions === "function"
        ? callHookNow("instructions", () => instructions(turn))
        : instructions;
    if (output === undefined) return own;
    return [own ?? "", outputInstructions(output)].join("\n\n").trim();
  }

  async #request(transcript: readonly TranscriptEntry[]): Promise<ModelRequest> {
    const { settings, turn } = this.#scope;
    const { maxOutputTokens, temperature, hooks, output } = settings;
    const instructions = this.#instructions();
    const request: ModelRequest = {
      ...(instructions !== undefined && { instructions }),
      transcript: await withStoredFiles(transcript, turn.files),
      tools: this.#tools.box.offer(),
      ...(output && { output: output.schema }),
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      ...(temperature !== undefined && { temperature }),
    };
    const given = await callHook("beforeModel", () => hooks.beforeModel?.(request, turn));
    if (isVeto(given)) throw new VetoError(given.veto);
    return given ?? request;
  }

  async #stream(
    { iteration, attempt }: Attempt,
    model: Model,
    request: ModelRequest,
    collector: AnswerCollector,
  ): Promise<ModelAnswer> {
    await this.#read(iteration, model.stream(request, this.#scope.signal), collector);
    if (collector.end === undefined) {
      throw new ModelError("unreachable", "the answer of the model broke off");
    }
    for (const [place, file] of collector.files.entries()) {
      this.#sayFile(`${this.#artifact.artifactId}-file-${iteration}-${place + 1}`, file);
    }
    const content = await this.#changed(collector.content());
    const { reason: finish, usage } = collector.end;
    const sources: readonly Source[] = collector.sources;
    const answer = {
      content,
      finish,
      usage,
      model: model.id,
      ...(sources.length > 0 && { sources }),
    };
    const costUsd = model.price && costOf(usage, model.price);
    const measured = { attempt, ...collector.timing(), ...(costUsd !== undefined && { costUsd }) };
    this.#scope.note({ kind: "internal:llm-result", iteration, ...answer, ...measured });
    this.#measure(usage, model);
    return answer;
  }

  /** Reads an answer to its end. Texts that arrive together become one chunk. */
  async #read(
    iteration: number,
    events: AsyncIterable<ModelEvent>,
    collector: AnswerCollector,
  ): Promise<void> {
    const { signal, settings, turn } = this.#scope;
    const { modelEvent } = settings.hooks;
    const arriving: AsyncIterable<ModelEvent | readonly ModelEvent[]> =
      events instanceof AnswerStream ? events.batches : events;
    let thought = "";
    let text = "";
    const sayText = (): void => {
      this.#artifact.add(text);
      text = "";
    };
    for await (const arrived of stoppable(arriving, signal)) {
      for (const event of Array.isArray(arrived) ? arrived : [arrived as ModelEvent]) {
        collector.add(event);
        // What is emitted from here on must follow the text before it.
        if (event.kind !== "text" || modelEvent !== undefined) sayText();
        if (event.kind === "reasoning") thought += event.text;
        else if (thought !== "") {
          this.#scope.note({ kind: "internal:thought", iteration, text: thought });
          thought = "";
        }
        if (modelEvent !== undefined) {
          const given = callHookNow("modelEvent", () => modelEvent(event, turn));
          for (const one of given === undefined ? [] : [given].flat()) this.#scope.say(one);
        }
        if (event.kind === "text") text += event.text;
        if (text.length >= LONG_CHUNK) sayText();
      }
      sayText();
      const room = this.#scope.room();
      if (room !== undefined) await room;
    }
  }

  #measure(usage: ModelUsage, { id, price }: Model): void {
    const { agentName, log } = this.#scope.settings;
    const labels = [agentName, id];
    log.metrics.count("modelCalls", [...labels, "ok"]);
    log.metrics.count("modelTokens", [...labels, "input"], usage.inputTokens);
    log.metrics.count("modelTokens", [...labels, "output"], usage.outputTokens);
    if (price !== undefined) log.metrics.count("modelCost", labels, costOf(usage, price));
  }

  /** Applies the author's `afterModel` hook. */
  async #changed(content: readonly AssistantContent[]): Promise<readonly AssistantContent[]> {
    const { settings, turn } = this.#scope;
    const given = await callHook("afterModel", () => settings.hooks.afterModel?.(content, turn));
    if (isVeto(given)) throw new VetoError(given.veto);
    if (given === undefined) return content;
    if (textOfContent(given) !== textOfContent(content)) {
      this.#artifact.breakOff();
      this.#artifact.add(textOfContent(given));
    }
    return given;
  }

  /**
   * Emits a file as an artifact of its own, before the answer is recorded, so that no crash can
   * lose it.
   */
  #sayFile(artifactId: string, { mediaType, bytes }: MadeFile): void {
    const { id: taskId, contextId } = this.#scope.turn.task;
    const parts: readonly A2APart[] = [{ kind: "file", file: { mimeType: mediaType, bytes } }];
    const artifact = { artifactId, parts };
    const event = { kind: "artifact-update", taskId, contextId, artifact } as const;
    this.#scope.say({ ...event, append: false, lastChunk: true });
  }
}

/**
 * Reads the files of which the log has only references: a model needs their bytes. All other entries
 * stay the same objects, because what is known about an entry is looked up by it. A large file is
 * read for each request, so that it is not in memory while tools run or the caller is asked.
 */
async function withStoredFiles(
  transcript: readonly TranscriptEntry[],
  files: TurnFiles | undefined,
): Promise<readonly TranscriptEntry[]> {
  if (files === undefined || !transcript.some(hasStoredFiles)) return transcript;
  const read = async (file: FileContent): Promise<FileContent> => {
    const { stored, ...rest } = file;
    if (stored === undefined) return file;
    const bytes = Buffer.from(await files.bytes({ kind: "file", file }));
    return { ...rest, bytes: bytes.toString("base64") };
  };
  const readPart = async (part: A2APart): Promise<A2APart> =>
    part.kind === "file" ? { ...part, file: await read(part.file) } : part;
  const readResult = async (result: ToolResultEntry): Promise<ToolResultEntry> => {
    if (result.files === undefined) return result;
    const contents = result.files.map(async (one) => ({ ...one, file: await read(one.file) }));
    return { ...result, files: await Promise.all(contents) };
  };
  const readEntry = async (entry: TranscriptEntry): Promise<TranscriptEntry> => {
    if (entry.role === "assistant" || !hasStoredFiles(entry)) return entry;
    if (entry.role === "tool") {
      return { ...entry, results: await Promise.all(entry.results.map(readResult)) };
    }
    return { ...entry, parts: await Promise.all(entry.parts.map(readPart)) };
  };
  return Promise.all(transcript.map(readEntry));
}

function hasStoredFiles(entry: TranscriptEntry): boolean {
  if (entry.role === "assistant") return false;
  if (entry.role === "user") {
    return entry.parts.some((part) => part.kind === "file" && part.file.stored !== undefined);
  }
  return entry.results.some(({ files }) => files?.some(({ file }) => file.stored !== undefined));
}

/** What a log says about a request. It has no content: that is in the log before it. */
function describeRequest({ instructions = "", transcript, tools }: ModelRequest) {
  const fixed = tokensOf(instructions + JSON.stringify(tools));
  return {
    entries: transcript.length,
    estimatedTokens: fixed + transcriptTokens(transcript),
    tools: tools.map(({ name }) => name),
  } satisfies Partial<LlmCallEvent>;
}

export function textOfContent(content: readonly AssistantContent[]): string {
  return content.map((piece) => (piece.kind === "text" ? piece.text : "")).join("");
}
