import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalDecision,
  type Metadata,
  traceHeaders,
} from "@convoke/protocol";
import { askApproval, confirmCall, digestArguments } from "../approvals/gate.ts";
import { type OpenRequest, approvalRequest, hasExpired } from "../approvals/open-request.ts";
import { runTool } from "./run-tool.ts";
import type { InterruptAnswer, Tool } from "../tools/tool.ts";
import { CallInterrupts, CallSink } from "./call-sink.ts";
import { type CallResult, type ToolCall, completeCall, notedResult } from "../run/call-result.ts";
import { withToolSpan } from "./gen-ai-spans.ts";
import { callHook, isVeto } from "../run/hooks.ts";
import type { LoopScope } from "../run/loop-scope.ts";
import type { RunApprovals } from "./run-approvals.ts";

/** What the calls of a run share. */
export interface CallSurroundings {
  readonly scope: LoopScope;
  readonly approvals: RunApprovals;
  readonly findTool: (name: string) => Tool | undefined;
  /** The error for the model if it calls a tool that does not exist. */
  readonly unknownTool: (name: string) => string;
  /** The artifact that only the model writes. */
  readonly answerId: string;
}

const UNKNOWN =
  "Unknown: a crash cut this call; it may or may not have done its work. Check before you repeat it.";

/**
 * One tool call from its arguments to its result, over as many rounds, answers
 * and restarts as it takes. What the journal has of it is where it begins.
 *
 *     arguments ──▶ rule ──▶ decision ──▶ round ──▶ result
 *                                ▲          │
 *                                └─ answer ─┘
 */
export class CallRun {
  readonly #call: ToolCall;
  readonly #around: CallSurroundings;
  readonly #tool: Tool | undefined;
  readonly #interrupts: CallInterrupts;
  #result: CallResult | undefined;
  #arguments: Metadata | undefined;
  /** The approval that is currently open. */
  #approval: Approval | undefined;
  #isConfirmed = false;
  #isGuarded = false;
  #round = 0;
  /** A crash interrupted the call while it was running. */
  #isCut = false;

  constructor(call: ToolCall, around: CallSurroundings) {
    this.#call = call;
    this.#around = around;
    this.#tool = around.findTool(call.toolName);
    this.#interrupts = new CallInterrupts(call.toolCallId);
    this.#load();
  }

  get result(): CallResult | undefined {
    return this.#result;
  }

  /** The requests that the call is waiting on. */
  get open(): readonly OpenRequest[] {
    if (this.#result !== undefined) return [];
    if (this.#approval !== undefined) return [approvalRequest(this.#approval)];
    return this.#interrupts.open;
  }

  /** Continues until the call has a result or waits for an answer. */
  async advance(): Promise<void> {
    if (this.#result !== undefined || this.open.length > 0) return;
    const tool = this.#tool;
    if (tool === undefined) {
      const missing = this.#around.unknownTool(this.#call.toolName);
      return this.#fail(this.#isCut ? `${UNKNOWN} ${missing}` : missing);
    }
    const input = this.#arguments ?? (await this.#prepare(tool));
    if (input === undefined) return;
    this.#arguments = input;
    // Before the rule: a call that may have run is never reported as "not run".
    if (this.#isCut && !tool.idempotent) return this.#fail(UNKNOWN);
    if (!this.#isConfirmed) await this.#confirm(tool, input);
    if (this.#result !== undefined || this.#approval !== undefined) return;
    await this.#execute(tool, input);
  }

  /**
   * Applies the caller's decision on the approval. Returns what is wrong with edited arguments, if
   * anything.
   */
  async decide(
    answer: ApprovalAnswer,
    { by, at, place }: { readonly by: string; readonly at: Date; readonly place: number },
  ): Promise<string | undefined> {
    const approval = this.#approval;
    if (approval?.id !== answer.approvalId) {
      this.relay(answer, place);
      return undefined;
    }
    const { option, feedback, arguments: edited } = answer;
    // If the tool is gone, for example with its MCP server, the call fails whatever the decision.
    if (edited !== undefined && this.#tool !== undefined) {
      const checked = await checkArguments(this.#tool, edited);
      if (!checked.ok) return `The arguments do not fit. ${checked.problem}`;
    }
    const decision: ApprovalDecision = {
      outcome: option === "reject" ? "rejected" : "approved",
      option,
      decidedBy: by,
      decidedAt: at.toISOString(),
      ...(feedback !== undefined && { feedback }),
    };
    this.#decided(approval, decision, edited);
    if (option === "conversation" || option === "always") {
      await this.#around.approvals.grant(approval, option, { by, at });
    }
    await this.#heedDecision();
    return undefined;
  }

  /** Passes on an answer to the tool's question, with its position in the journal. */
  answer(requestId: string, answer: InterruptAnswer, place: number): void {
    if (this.#result !== undefined) return;
    const answered = this.#interrupts.answer(requestId, answer, place);
    const { approvals, scope } = this.#around;
    const isSecret = answered?.kind === "interrupt:input" && answered.sensitive === true;
    if (isSecret) scope.secrets.add(answer.text);
    if (answered?.kind !== "interrupt:auth" || answered.credential === undefined) return;
    const credential = answer.text.trim();
    scope.secrets.add(credential);
    if (credential !== "") approvals.credentials.set(answered.credential, credential);
  }

  /** Passes on the decision on a sub-agent's approval, which is relayed and not applied here. */
  relay(decision: ApprovalAnswer, place: number): void {
    this.answer(decision.approvalId, { text: "", parts: [], decision }, place);
  }

  /**
   * Resolves when the open question was settled elsewhere; undefined if the tool cannot detect
   * that.
   */
  watch(signal: AbortSignal): Promise<void> | undefined {
    const isAsking = this.#approval === undefined && this.open.length > 0;
    return isAsking ? this.#tool?.watch?.(this.#call, signal) : undefined;
  }

  /** The open question was settled elsewhere, so the call continues without an answer. */
  recall(): void {
    if (this.#approval === undefined && this.#tool?.watch !== undefined) this.#interrupts.giveUp();
  }

  /** No answer will come: the caller moved on, or the question expired. */
  async giveUp(outcome: "superseded" | "expired", at: Date): Promise<void> {
    if (this.open.length === 0) return;
    if (this.#approval !== undefined) {
      this.#decided(this.#approval, { outcome, decidedAt: at.toISOString() });
      return this.#heedDecision();
    }
    const isTheirs = this.open.some((one) => hasExpired(one, at));
    this.#interrupts.giveUp();
    // The sub-agent that asked knows when its own question expires, and continues.
    if (outcome === "expired" && isTheirs && this.#tool?.watch !== undefined) return undefined;
    this.#tool?.giveUp?.(this.#call);
    const why =
      outcome === "superseded"
        ? "the user sent a new message instead of an answer"
        : "nobody answered in time";
    return this.#decline(`Not finished: ${why}.`);
  }

  /** Restores the state of the call from the journal. */
  #load(): void {
    const { scope, approvals } = this.#around;
    const { journal } = scope;
    const { toolCallId } = this.#call;
    const { complete, starts, interrupts, approvals: asked } = journal.call(toolCallId);
    if (complete !== undefined) {
      this.#result = notedResult(complete, scope.turn);
      return;
    }
    const approval = asked.at(-1)?.approval;
    const decision = approvals.decisionOf(toolCallId);
    const start = starts.at(-1);
    const isOpen = approval !== undefined && decision?.approvalId !== approval.id;
    this.#approval = isOpen ? approval : undefined;
    this.#isGuarded = approval !== undefined || decision !== undefined;
    this.#arguments =
      (start?.input as Metadata | undefined) ?? decision?.arguments ?? approval?.tool.arguments;
    this.#round = start?.round ?? 0;
    this.#isCut = start !== undefined && interrupts.at(-1)?.round !== start.round;
    this.#interrupts.load(interrupts, {
      isOpen: !this.#isCut,
      placeOf: (event) => journal.placeOf(event),
    });
  }

  /** Parses and checks the arguments; undefined if the call cannot run. */
  async #prepare(tool: Tool): Promise<Metadata | undefined> {
    const { turn, settings } = this.#around.scope;
    const { toolCallId, toolName, input: text } = this.#call;
    const parsed = parseArguments(text);
    if (!parsed.ok) {
      await this.#fail(`${parsed.problem} Call ${toolName} again with a JSON object.`);
      return undefined;
    }
    const checked = await checkArguments(tool, parsed.arguments);
    if (!checked.ok) {
      await this.#fail(`The arguments of ${toolName} do not fit. ${checked.problem}`);
      return undefined;
    }
    const hooked = { toolCallId, toolName, input: parsed.arguments };
    const given = await callHook("beforeTool", () => settings.hooks.beforeTool?.(hooked, turn));
    if (!isVeto(given)) return given?.input ?? parsed.arguments;
    await this.#decline(given.veto);
    return undefined;
  }

  /**
   * Applies the tool's confirm rule to the arguments that will run, and finds or asks for the
   * decision. The rule is asked after an approval, too: the approval may have edited the arguments,
   * or be older than the rule, and a denial holds against both.
   */
  async #confirm(tool: Tool, input: Metadata): Promise<void> {
    const { scope, approvals } = this.#around;
    const { turn, settings } = scope;
    const { toolCallId, toolName } = this.#call;
    this.#isConfirmed = true;
    await this.#heedDecision();
    if (this.#result !== undefined) return undefined;
    const ruled = { toolName, input, caller: turn.caller, turn };
    const confirmed = await callHook(`rule for ${toolName}`, () =>
      confirmCall(tool.confirm, ruled),
    );
    if (confirmed?.kind === "deny") {
      return this.#decline("Not run: a rule of this agent does not allow it.");
    }
    if (approvals.decisionOf(toolCallId) !== undefined) return undefined;
    this.#isGuarded = confirmed?.kind !== "allow";
    if (!this.#isGuarded) return undefined;
    const words = confirmed?.kind === "ask" ? confirmed.words : {};
    // A dangerous call is asked for each time, whatever was approved for longer before.
    const isGranted =
      words.risk !== "danger" && (await approvals.applyGrant(this.#call, digestArguments(input)));
    if (isGranted) return undefined;
    this.#approval = askApproval({
      id: approvals.idFor(toolCallId),
      toolCallId,
      toolName,
      arguments: input,
      words,
      now: turn.now(),
      expiresInMs: settings.approvals.expiresInMs,
    });
    scope.note({ kind: "internal:approval-requested", toolCallId, approval: this.#approval });
    return undefined;
  }

  #decided(approval: Approval, decision: ApprovalDecision, edited?: Metadata): void {
    this.#approval = undefined;
    this.#isConfirmed = false;
    if (edited !== undefined) this.#arguments = edited;
    this.#around.approvals.decided(approval, decision, edited);
  }

  /** A call that was not approved ends here, with the reason for the model. */
  async #heedDecision(): Promise<void> {
    const decision = this.#around.approvals.decisionOf(this.#call.toolCallId);
    if (decision === undefined || decision.outcome === "approved") return;
    await this.#decline(refusalText(decision));
  }

  async #execute(tool: Tool, given: Metadata): Promise<void> {
    const { scope } = this.#around;
    const { toolCallId, toolName } = this.#call;
    const checked = await checkArguments(tool, given);
    if (!checked.ok) {
      return this.#fail(`The arguments of ${toolName} do not fit. ${checked.problem}`);
    }
    this.#isCut = false;
    const round = (this.#round += 1);
    const start = { toolName, toolCallId, input: given, round };
    await scope.begin(toolCallId, `the tool ${toolName}`, {
      kind: "internal:tool-start",
      ...start,
    });
    await this.#runRound(tool, { ...checked, given, round });
    scope.ended(toolCallId);
  }

  async #runRound(tool: Tool, { input, digest, given, round }: Round): Promise<void> {
    const { scope, approvals, answerId } = this.#around;
    const { task, caller } = scope.turn;
    const { toolCallId, toolName } = this.#call;
    const { secrets } = scope;
    const sink = new CallSink(scope, { call: this.#call, round, secrets, answerId });
    const outcome = await withToolSpan(scope, { tool, toolCallId, input: given }, (trace) =>
      runTool(tool, {
        call: { toolCallId, digest, isGuarded: this.#isGuarded },
        decisions: approvals.decisions,
        input,
        taped: scope.tape && { tape: scope.tape, input: given, secrets },
        context: {
          taskId: task.id,
          contextId: task.contextId,
          toolCallId,
          key: `${task.id}:${toolCallId}`,
          caller,
          depth: scope.budget.depth,
          trace: { ...traceHeaders(trace), traceId: trace.traceId },
          answers: new Map(this.#interrupts.answers),
          credentials: new Map(approvals.credentials),
        },
        signal: scope.signal,
        outputLimit: scope.settings.toolOutputLimit,
        sink,
      }),
    );
    const { sources, files, used } = sink;
    if (outcome.kind === "error") {
      const facts = { taskId: task.id, tool: toolName, toolCallId };
      const { text, error = text } = outcome;
      const cause = secrets.hideError(error);
      const errorId = scope.settings.log.failed("a tool failed", facts, cause);
      return this.#complete({ output: outcome.text, isError: true, used, errorId });
    }
    if (outcome.kind === "result") {
      return this.#complete({ output: outcome.value, sources, files, used });
    }
    const interrupts = secrets.hide(outcome.interrupts);
    this.#interrupts.ask(interrupts);
    scope.note({ kind: "internal:tool-interrupt", toolName, toolCallId, round, interrupts });
    return undefined;
  }

  #fail(text: string): Promise<void> {
    return this.#complete({ output: text, isError: true });
  }

  #decline(text: string): Promise<void> {
    return this.#complete({ output: text, isError: true, isDeclined: true });
  }

  async #complete(result: Partial<CallResult>): Promise<void> {
    const { scope } = this.#around;
    const { toolCallId, toolName } = this.#call;
    this.#result = await completeCall(scope, this.#arguments ?? {}, {
      toolCallId,
      toolName,
      isError: false,
      isDeclined: false,
      sources: [],
      ...result,
      output: scope.secrets.hide(result.output),
    });
  }
}

/** One run of a tool: its arguments as they were given, and as the tool's schema has converted them. */
interface Round {
  readonly given: Metadata;
  readonly input: unknown;
  /** The digest of the arguments as they were given. */
  readonly digest: string;
  readonly round: number;
}

/** The result of a call that was not approved. */
function refusalText({ outcome, feedback }: ApprovalDecision): string {
  if (outcome === "superseded") return "Not run: the user sent a new message instead.";
  if (outcome === "expired") return "Not run: nobody approved it in time.";
  return feedback === undefined
    ? "Not run: the user rejected it."
    : `Not run: the user rejected it, and says: ${feedback}`;
}

type CheckedArguments =
  | {
      readonly ok: true;
      /** The arguments as converted by the tool's schema. */
      readonly input: unknown;
      /** The digest of the arguments as they were given. */
      readonly digest: string;
    }
  | { readonly ok: false; readonly problem: string };

/** Checks the arguments of a call. A copy is checked, so that later changes to the original have no effect. */
async function checkArguments(tool: Tool, given: Metadata): Promise<CheckedArguments> {
  try {
    const copy = structuredClone(given);
    const digest = digestArguments(copy);
    const checked = await tool.check(copy);
    if (checked.ok) return { ok: true, input: checked.input, digest };
    return { ok: false, problem: checked.problems.join("; ") };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}

type ParsedArguments =
  | { readonly ok: true; readonly arguments: Metadata }
  | { readonly ok: false; readonly problem: string };

/** Parses the arguments that a model wrote as JSON. An empty text means no arguments. */
function parseArguments(text: string): ParsedArguments {
  if (text.trim() === "") return { ok: true, arguments: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : "it cannot be read";
    return { ok: false, problem: `The arguments are not JSON: ${why}.` };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { ok: false, problem: "The arguments must be a JSON object." };
  }
  return { ok: true, arguments: value as Metadata };
}
