import { type AgentEvent, type Turn, agentMessage, startTimer } from "@convoke/protocol";
import type { TranscriptEntry } from "../models/model.ts";
import { AnswerArtifact } from "./answer-artifact.ts";
import { BudgetError } from "./budget.ts";
import { budgetReport } from "./budget-report.ts";
import { type ToolCall, toldResult } from "./call-result.ts";
import type { Source } from "./loop-events.ts";
import { type LoopEnd, endOf } from "./loop-failure.ts";
import { LoopScope } from "./loop-scope.ts";
import type { LoopSettings } from "./loop-settings.ts";
import { type ModelAnswer, ModelCalls } from "./model-calls.ts";
import { Outbox } from "./outbox.ts";
import { Questions } from "./questions.ts";
import { runReport } from "./run-report.ts";
import { ToolCalls } from "./tool-calls.ts";
import { openingTranscript, withMessage } from "./transcript.ts";
import { TurnTools } from "./turn-tools.ts";
import { UsageMeter } from "./usage.ts";

/**
 * One run of the loop on a turn: asks the model, runs the tools it calls, and
 * again, until it calls none. Begun anew after a crash, it goes the same way by
 * its journal, and nothing that is noted is done twice.
 */
export function runLoop(turn: Turn, settings: LoopSettings): AsyncIterable<readonly AgentEvent[]> {
  const abort = new AbortController();
  return new Outbox({
    turn,
    onLeave: () => abort.abort(new Error("nobody listens any more")),
    body: async (outbox) => {
      const stop = (): void => abort.abort(turn.signal.reason);
      if (turn.signal.aborted) stop();
      turn.signal.addEventListener("abort", stop, { once: true });
      try {
        await new LoopRun(turn, settings, outbox, abort).go();
      } finally {
        turn.signal.removeEventListener("abort", stop);
        // Whatever still runs belongs to nobody any more.
        abort.abort(new Error("the run is over"));
      }
    },
  });
}

class LoopRun {
  readonly #scope: LoopScope;
  readonly #abort: AbortController;
  readonly #artifact: AnswerArtifact;
  readonly #tools: TurnTools;
  readonly #sources = new Map<string, Source>();
  #modelId: string | undefined;
  #failures = 0;
  #hasEnded = false;
  #stopTimer: (() => void) | undefined;

  constructor(turn: Turn, settings: LoopSettings, outbox: Outbox, abort: AbortController) {
    this.#scope = new LoopScope(turn, settings, outbox, abort.signal);
    this.#abort = abort;
    this.#artifact = new AnswerArtifact(this.#scope);
    this.#tools = new TurnTools(this.#scope);
  }

  async go(): Promise<void> {
    const { turn } = this.#scope;
    try {
      const answer = await this.#work();
      this.#end(answerEnd(answer));
    } catch (error) {
      const end = turn.signal.aborted ? undefined : endOf(error);
      if (end === undefined) throw error;
      this.#end(end);
    } finally {
      this.#stopTimer?.();
      this.#tools.end(this.#hasEnded);
    }
  }

  /** The loop itself. */
  async #work(): Promise<ModelAnswer> {
    const { turn, settings, clock, journal, budget } = this.#scope;
    const { allowsCycles, identity } = settings;
    budget.admit(identity.id, { allowsCycles, now: clock.startedAt ?? turn.now() });
    const model = await settings.model();
    this.#scope.usage = new UsageMeter(model.price);
    this.#modelId = model.id;
    const tools = this.#tools;
    const models = new ModelCalls(this.#scope, model, tools, this.#artifact);
    const questions = new Questions(this.#scope, (isWaiting) => this.#time(isWaiting));
    const { artifactId: answerId } = this.#artifact;
    const calls = new ToolCalls(this.#scope, { tools, questions, answerId });
    let transcript = openingTranscript(turn);
    const subject = transcript.length - 1;
    clock.start();
    this.#time(false);
    for (let iteration = 1; ; iteration++) {
      budget.check(this.#total(), this.#failures, turn.now());
      const answer = await models.answer({ iteration, transcript, subject });
      this.#scope.usage.addAnswer(answer.usage);
      this.#addSources(answer.sources);
      const wanted = answer.content.filter(
        (piece): piece is ToolCall => piece.kind === "tool-call",
      );
      if (wanted.length > 0) {
        this.#checkToolCalls(wanted.length);
        const { results, said } = await calls.run(iteration, wanted);
        for (const { sources, used } of results) {
          this.#addSources(sources);
          this.#scope.usage.addDelegated(used);
        }
        const failed = results.filter(({ isError, isDeclined }) => isError && !isDeclined);
        this.#failures = failed.length === results.length ? this.#failures + 1 : 0;
        const told = results.map(toldResult);
        const entries: readonly TranscriptEntry[] = [
          { role: "assistant", content: answer.content },
          { role: "tool", results: told },
        ];
        transcript = said.reduce(withMessage, [...transcript, ...entries]);
        // What the model is told next must be known after a crash, too.
        await this.#scope.durable();
      }
      if (!journal.hasCheckpoint(iteration)) {
        this.#scope.note({ kind: "internal:checkpoint", iteration });
      }
      if (wanted.length === 0) return answer;
    }
  }

  #checkToolCalls(wanted: number): void {
    const { toolCalls: most } = this.#scope.settings.budget;
    const { usage } = this.#scope;
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
    return this.#scope.usage.total(this.#scope.clock.workedMs);
  }

  /** The budget of time ends what is under way; while the task waits for its caller, no time counts. */
  #time(isWaiting: boolean): void {
    this.#stopTimer?.();
    const { budget, clock, turn } = this.#scope;
    const end = isWaiting ? undefined : budget.end(clock.workedMs, turn.now());
    if (end === undefined) return;
    this.#stopTimer = startTimer(end.inMs, () => this.#abort.abort(end.error));
  }

  #end({ state, text, metadata }: LoopEnd): void {
    const { turn, runId } = this.#scope;
    const { id: taskId, contextId } = turn.task;
    this.#artifact.close();
    this.#hasEnded = true;
    const sources = [...this.#sources.values()];
    const message = text === "" ? undefined : agentMessage(`${runId}-end`, text);
    this.#scope.say({
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
        ...runReport(this.#modelId, this.#tools),
      },
    });
  }
}

/** An answer that the model did not finish is still the answer, and says so. */
function answerEnd({ finish, content }: ModelAnswer): LoopEnd {
  const isEmpty = content.every((piece) => piece.kind !== "text");
  if (finish === "content-filter" && isEmpty) {
    const text = "The provider of the model did not let it answer.";
    return { state: "failed", text, metadata: { error: text, reason: "content-filter" } };
  }
  if (finish === "error") {
    const text = "The model could not finish its answer.";
    return { state: "failed", text, metadata: { error: text, reason: "model" } };
  }
  const isWhole = finish === "stop" || finish === "tool-calls" || finish === "other";
  return { state: "completed", text: "", metadata: isWhole ? {} : { finish } };
}
