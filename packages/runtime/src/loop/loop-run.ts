import {
  type A2APart,
  type AgentEvent,
  type BudgetLimit,
  type BudgetReport,
  EXTENSIONS,
  type Message,
  type Metadata,
  type Turn,
  agentMessage,
  textPart,
} from "@convoke/protocol";
import { startTimer } from "@convoke/protocol/internal";
import type { AssistantContent, TranscriptEntry } from "../model/model.ts";
import { ModelError } from "../model/model-error.ts";
import { AnswerArtifact, type AnswerTarget } from "./answer-artifact.ts";
import { BudgetError } from "../run/budget.ts";
import { type ToolCall, toldResult } from "../run/call-result.ts";
import type { Source } from "../run/loop-events.ts";
import { type LoopEnd, LoopEndError, endForError } from "../run/loop-failure.ts";
import { LoopScope } from "../run/loop-scope.ts";
import type { LoopSettings } from "../run/loop-settings.ts";
import { type ModelAnswer, ModelCalls, textOfContent } from "./model-calls.ts";
import { Outbox } from "../run/outbox.ts";
import { Questions } from "./questions.ts";
import { OutputArtifact, outputFailure, readOutput, repairRequest } from "./structured-output.ts";
import type { ReportedRun, RunReports } from "./run-report.ts";
import { ToolCalls } from "./tool-calls.ts";
import { TurnTools } from "./turn-tools.ts";
import type { Usage, UsageMeter } from "../run/usage.ts";
import { GRANT_ID } from "../approvals/grants.ts";
import { requestsIn } from "../approvals/open-request.ts";
import { asksForToolsOnly } from "../run/client-tools.ts";

/**
 * One run of the loop on a turn: asks the model, runs the tools it calls, and
 * repeats until it calls none. Restarted after a crash, it takes the same path from
 * its journal, and nothing that is recorded there is done twice.
 */
export function runLoop(
  turn: Turn,
  settings: LoopSettings,
  reports: RunReports,
): AsyncIterable<readonly AgentEvent[]> {
  const abort = new AbortController();
  return new Outbox({
    turn,
    onLeave: () => abort.abort(new Error("the last subscriber has left")),
    body: async (outbox) => {
      const stop = (): void => abort.abort(turn.signal.reason);
      if (turn.signal.aborted) stop();
      turn.signal.addEventListener("abort", stop, { once: true });
      try {
        await new LoopRun(new LoopScope(turn, settings, outbox, abort.signal), abort, reports).go();
      } finally {
        turn.signal.removeEventListener("abort", stop);
        // Stop everything that is still running.
        abort.abort(new Error("the run is over"));
      }
    },
  });
}

class LoopRun implements ReportedRun {
  readonly scope: LoopScope;
  readonly tools: TurnTools;
  readonly #abort: AbortController;
  readonly #reports: RunReports;
  readonly #output: OutputArtifact | undefined;
  readonly #artifact: AnswerTarget;
  readonly #sources = new Map<string, Source>();
  #failures = 0;
  #hasRepaired = false;
  #hasEnded = false;
  #stopTimer: (() => void) | undefined;

  constructor(scope: LoopScope, abort: AbortController, reports: RunReports) {
    this.scope = scope;
    this.#abort = abort;
    this.#reports = reports;
    this.#output = scope.settings.output && new OutputArtifact(scope);
    this.#artifact = this.#output ?? new AnswerArtifact(scope);
    this.tools = new TurnTools(this.scope);
  }

  async go(): Promise<void> {
    const { turn } = this.scope;
    this.#reports.begin(turn.task.id, this);
    try {
      const answer = await this.#work();
      this.#end(answerEnd(answer, this.#finalText(answer)));
    } catch (error) {
      const end = turn.signal.aborted ? undefined : endForError(error);
      if (end === undefined) throw error;
      this.#end(error instanceof ModelError ? this.#logged(end, error) : end);
    } finally {
      this.#stopTimer?.();
      this.#reports.end(turn.task.id, this);
      this.tools.end(this.#hasEnded);
    }
  }

  /** The end of a task whose model failed, with the id under which the operator finds the cause. */
  #logged(end: LoopEnd, error: ModelError): LoopEnd {
    const { turn, settings, model } = this.scope;
    const facts = { taskId: turn.task.id, model: model.id };
    const errorId = settings.log.failed("a task failed because of its model", facts, error);
    return { ...end, metadata: { ...end.metadata, errorId } };
  }

  /** The loop: model, tools, model, … until the model calls no tool. */
  async #work(): Promise<ModelAnswer> {
    const { turn, settings, clock, journal, budget } = this.scope;
    const { allowsCycles, identity } = settings;
    budget.admit(identity.id, { allowsCycles, now: clock.startedAt ?? turn.now() });
    const { tools } = this;
    const models = new ModelCalls(this.scope, tools, this.#artifact);
    const questions = new Questions(this.scope, (isWaiting) => this.#time(isWaiting));
    const { artifactId: answerId } = this.#artifact;
    const calls = new ToolCalls(this.scope, { tools, questions, answerId });
    let transcript = openingTranscript(turn);
    const subject = transcript.length - 1;
    clock.start();
    this.#time(false);
    for (let iteration = 1; ; iteration++) {
      budget.check(this.#total(), this.#failures, turn.now());
      const answer = await models.answer({ iteration, transcript, subject });
      this.scope.usage.addAnswer(answer.usage, settings.models.find(answer.model).price);
      this.#addSources(answer.sources);
      const wanted = answer.content.filter(
        (piece): piece is ToolCall => piece.kind === "tool-call",
      );
      const next =
        wanted.length > 0
          ? await this.#runTools(calls, iteration, wanted)
          : await this.#readAnswer(answer);
      if (!journal.hasCheckpoint(iteration)) {
        this.scope.note({ kind: "internal:checkpoint", iteration });
      }
      if (next === undefined) return answer;
      const assistant = { role: "assistant", content: answer.content } as const;
      transcript = next.said.reduce(withMessage, [...transcript, assistant, next.entry]);
    }
  }

  /** The message of a completed task, if the agent sends one. */
  #finalText({ content }: ModelAnswer): string {
    const { settings, turn } = this.scope;
    if (!settings.isStandalone && turn.finalMessage !== true) return "";
    return this.#output === undefined ? textOfContent(content) : this.#output.text;
  }

  /** Runs the tools, and returns what the model receives next. */
  async #runTools(
    calls: ToolCalls,
    iteration: number,
    wanted: readonly ToolCall[],
  ): Promise<NextEntries> {
    this.#checkToolCalls(wanted.length);
    const { results, said } = await calls.run(iteration, wanted);
    for (const { sources, used } of results) {
      this.#addSources(sources);
      this.scope.usage.addDelegated(used);
    }
    const failed = results.filter(({ isError, isDeclined }) => isError && !isDeclined);
    this.#failures = failed.length === results.length ? this.#failures + 1 : 0;
    // The next request must be reproducible after a crash.
    await this.scope.durable();
    return { entry: { role: "tool", results: results.map(toldResult) }, said };
  }

  /**
   * Checks the answer against the output schema, if there is one. Returns what the model receives
   * after an answer that does not fit; undefined if the answer is final.
   */
  async #readAnswer(answer: ModelAnswer): Promise<NextEntries | undefined> {
    const { output } = this.scope.settings;
    if (output === undefined || answerEnd(answer, "").state !== "completed") return undefined;
    const read = await readOutput(textOfContent(answer.content), output);
    if (read.ok) {
      this.#output?.set(read.value);
      return undefined;
    }
    if (this.#hasRepaired) throw new LoopEndError(outputFailure(read.problem));
    this.#hasRepaired = true;
    const parts = [textPart(repairRequest(read.problem))];
    return { entry: { role: "user", parts }, said: [] };
  }

  #checkToolCalls(wanted: number): void {
    const { toolCalls: most } = this.scope.settings.budget;
    const { usage } = this.scope;
    const used = usage.toolCalls + wanted;
    if (most !== undefined && used > most) throw new BudgetError("toolCalls", most, used);
    usage.toolCalls = used;
  }

  #addSources(sources: readonly Source[] = []): void {
    for (const source of sources) {
      if (!this.#sources.has(source.url)) this.#sources.set(source.url, source);
    }
  }

  #total(): ReturnType<UsageMeter["total"]> {
    return this.scope.usage.total(this.scope.clock.workedMs);
  }

  /**
   * Starts the timer that ends the run when its time budget is used up; stops it while the task
   * waits for its caller.
   */
  #time(isWaiting: boolean): void {
    this.#stopTimer?.();
    const { budget, clock, turn } = this.scope;
    const end = isWaiting ? undefined : budget.end(clock.workedMs, turn.now());
    if (end === undefined) return;
    this.#stopTimer = startTimer(end.inMs, () => this.#abort.abort(end.error));
  }

  #end({ state, text, metadata }: LoopEnd): void {
    const { turn, runId } = this.scope;
    const { id: taskId, contextId } = turn.task;
    this.#artifact.close();
    this.#hasEnded = true;
    const sources = [...this.#sources.values()];
    const messageId = state === "completed" ? `${runId}-final` : `${runId}-end`;
    const message = text === "" ? undefined : agentMessage(messageId, text);
    this.scope.say({
      kind: "status-update",
      taskId,
      contextId,
      status: { state, ...(message && { message }) },
      final: true,
      metadata: {
        ...metadata,
        usage: this.#total(),
        ...budgetReport(turn, this.#total(), metadata),
        ...(sources.length > 0 && { sources }),
        ...this.#reports.agent(taskId),
      },
    });
  }
}

/** What follows an answer of the model in the transcript. */
interface NextEntries {
  readonly entry: TranscriptEntry;
  /** Messages that the caller sent instead of an answer. */
  readonly said: readonly Message[];
}

/** An answer that the model did not finish is still returned, and marked. */
function answerEnd({ finish, content }: ModelAnswer, finalText: string): LoopEnd {
  if (finish === "content-filter" && textOfContent(content) === "") {
    const text = "The provider of the model did not let it answer.";
    return { state: "failed", text, metadata: { error: text, reason: "content-filter" } };
  }
  if (finish === "error") {
    const text = "The model could not finish its answer.";
    return { state: "failed", text, metadata: { error: text, reason: "model" } };
  }
  const isWhole = finish === "stop" || finish === "tool-calls" || finish === "other";
  return { state: "completed", text: finalText, metadata: isWhole ? {} : { finish } };
}

/** Maps the budget names of the loop to the limits of the extension. */
const LIMITS: Readonly<Record<string, BudgetLimit>> = {
  tokens: "tokens",
  cost: "cost",
  timeMs: "deadline",
  deadline: "deadline",
  depth: "depth",
  cycle: "cycle",
};

const { uri } = EXTENSIONS.budget;

/** The usage of a task including its sub-agents, for a caller that has activated the extension. */
function budgetReport(
  { extensions }: Pick<Turn, "extensions">,
  { inputTokens, outputTokens, cost, subAgents }: Usage,
  { budget }: Metadata,
): Metadata {
  if (!extensions.has(uri)) return {};
  const exceeded = typeof budget === "string" ? LIMITS[budget] : undefined;
  const report: BudgetReport = {
    used: {
      tokens: inputTokens + outputTokens + (subAgents?.tokens ?? 0),
      ...(cost !== undefined && { costUsd: cost }),
      calls: subAgents?.calls ?? 0,
    },
    ...(exceeded && { exceeded }),
  };
  return { [uri]: report };
}

/** The conversation before the turn and the message that started it, as a transcript. */
function openingTranscript(turn: Turn): readonly TranscriptEntry[] {
  return [...turn.conversation, turn.message].reduce<readonly TranscriptEntry[]>(
    (entries, message) => withMessage(entries, message),
    [],
  );
}

/**
 * Appends a message to the transcript. Consecutive messages of one role are merged, because some
 * providers require alternating roles.
 */
function withMessage(
  entries: readonly TranscriptEntry[],
  message: Message,
): readonly TranscriptEntry[] {
  const last = entries.at(-1);
  if (message.role === "user") {
    const parts = message.parts.filter((part) => !isForPrograms(part));
    if (parts.length === 0) return entries;
    return last?.role === "user"
      ? entries.with(-1, { role: "user", parts: [...last.parts, ...parts] })
      : [...entries, { role: "user", parts }];
  }
  const content = assistantContent(message);
  if (content.length === 0) return entries;
  return last?.role === "assistant"
    ? entries.with(-1, { role: "assistant", content: [...last.content, ...content] })
    : [...entries, { role: "assistant", content }];
}

/** Matches the ids of statuses that report the progress of a tool, or repeat the answer. */
const STATUS_ID = /-(?:progress-\d+|final)$/;

/** What the agent said, without statuses about its progress and statuses that repeat its answer. */
function assistantContent(message: Message): readonly AssistantContent[] {
  const { messageId, parts } = message;
  if (STATUS_ID.test(messageId) || GRANT_ID.test(messageId)) return [];
  // A model that sees its tool calls as text tends to write such text instead of calling tools.
  if (asksForToolsOnly(requestsIn(message))) return [];
  const text = parts
    .filter((part) => !isForPrograms(part))
    .map(textOfPart)
    .filter((piece) => piece !== "")
    .join("\n");
  return text === "" ? [] : [{ kind: "text", text }];
}

/** Whether a part is data for programs. The same content is also present as text. */
function isForPrograms({ metadata }: A2APart): boolean {
  const { approvals, clientTools } = EXTENSIONS;
  return metadata?.[approvals.uri] !== undefined || metadata?.[clientTools.uri] !== undefined;
}

function textOfPart(part: A2APart): string {
  if (part.kind === "text") return part.text;
  if (part.kind === "data") return JSON.stringify(part.data);
  return `[file ${part.file.name ?? part.file.uri ?? "without a name"}]`;
}
