import {
  ENGINE_EVENTS,
  type InternalEvent,
  type Message,
  isMessageReceived,
} from "@convoke/protocol";
import type { ApprovalDecidedEvent, ApprovalRequestedEvent } from "../approvals/gate.ts";
import type {
  SubAgentCallEvent,
  SubAgentEvent,
  SubAgentQuestionEvent,
} from "../sub-agents/sub-agent-events.ts";
import type {
  AskEvent,
  LlmResultEvent,
  LlmRetryEvent,
  ToolCompleteEvent,
  ToolInterruptEvent,
  ToolStartEvent,
  TrimmedEvent,
} from "./loop-events.ts";

/** A question from the journal, and what ended the wait for its answer. */
export interface NotedWait {
  readonly ask: AskEvent;
  /** Absent while the task is still waiting. */
  readonly end?: {
    /** Absent if no answer came in time. */
    readonly message: Message | undefined;
    readonly at: Date;
    readonly place: number;
    readonly isRecalled: boolean;
  };
}

/** One tool call, as recorded in the journal. */
export interface NotedCall {
  readonly starts: readonly ToolStartEvent[];
  readonly interrupts: readonly ToolInterruptEvent[];
  readonly approvals: readonly ApprovalRequestedEvent[];
  readonly complete?: ToolCompleteEvent;
  /** Present if the call is to a sub-agent. */
  readonly subAgent?: NotedSubAgent;
}

/** What the journal has recorded about a sub-agent call. */
interface NotedSubAgent {
  readonly call?: SubAgentCallEvent;
  readonly task?: SubAgentEvent;
  readonly questions?: readonly SubAgentQuestionEvent[];
}

/** A sub-agent that may still be working. */
interface OpenSubAgent {
  readonly call: SubAgentCallEvent;
  readonly task?: SubAgentEvent;
}

const NO_CALL: NotedCall = { starts: [], interrupts: [], approvals: [] };

/** What earlier attempts of a turn did, indexed by iteration and by tool call. */
export class LoopJournal {
  readonly #results = new Map<number, LlmResultEvent>();
  readonly #attempts = new Map<number, number>();
  readonly #retries = new Map<number, LlmRetryEvent[]>();
  readonly #trimmed = new Map<number, number>();
  readonly #checkpoints = new Set<number>();
  readonly #waits = new Map<number, NotedWait[]>();
  readonly #calls = new Map<string, NotedCall>();
  readonly #places: ReadonlyMap<InternalEvent, number>;
  readonly decisions: ApprovalDecidedEvent[] = [];
  #nextModel: string | undefined;

  constructor(events: readonly InternalEvent[]) {
    this.#places = new Map(events.map((event, place) => [event, place]));
    let asking: number | undefined;
    for (const event of events) {
      if (event.kind === "internal:ask") asking = (event as AskEvent).iteration;
      this.#add(event, asking);
    }
  }

  /** The model's answer, if it was received completely. */
  result(iteration: number): LlmResultEvent | undefined {
    return this.#results.get(iteration);
  }

  /** How many requests were made. */
  attempts(iteration: number): number {
    return this.#attempts.get(iteration) ?? 0;
  }

  /** The id of the model that the turn has changed to, if it has. */
  get nextModel(): string | undefined {
    return this.#nextModel;
  }

  /** The requests to the current model that failed. */
  retries(iteration: number): readonly LlmRetryEvent[] {
    return this.#retries.get(iteration) ?? [];
  }

  /** How many entries were left out of the request. */
  trimmed(iteration: number): number {
    return this.#trimmed.get(iteration) ?? 0;
  }

  hasCheckpoint(iteration: number): boolean {
    return this.#checkpoints.has(iteration);
  }

  /** The questions of an iteration, in order. */
  waits(iteration: number): readonly NotedWait[] {
    return this.#waits.get(iteration) ?? [];
  }

  /** The position of an event in the journal, for comparing which came first. */
  placeOf(event: InternalEvent): number {
    return this.#places.get(event) ?? Number.POSITIVE_INFINITY;
  }

  call(toolCallId: string): NotedCall {
    return this.#calls.get(toolCallId) ?? NO_CALL;
  }

  /** Sub-agent calls without a result, with their tasks if known. */
  openSubAgents(): readonly OpenSubAgent[] {
    return [...this.#calls.values()].flatMap(({ complete, subAgent: { call, task } = {} }) =>
      complete === undefined && call !== undefined ? [{ call, ...(task && { task }) }] : [],
    );
  }

  #add(event: InternalEvent, asking: number | undefined): void {
    const iteration = event["iteration"] as number;
    switch (event.kind) {
      case "internal:llm-call":
        this.#attempts.set(iteration, Math.max(this.attempts(iteration), Number(event["attempt"])));
        break;
      case "internal:llm-retry":
        this.#addRetry(iteration, event as LlmRetryEvent);
        break;
      case "internal:llm-result":
        this.#results.set(iteration, event as LlmResultEvent);
        break;
      case "internal:trimmed":
        this.#trimmed.set(iteration, (event as TrimmedEvent).entries);
        break;
      case "internal:checkpoint":
        this.#checkpoints.add(iteration);
        break;
      case "internal:ask":
        this.#waits.set(iteration, [...this.waits(iteration), { ask: event as AskEvent }]);
        break;
      case "internal:approval-decided":
        this.decisions.push(event as ApprovalDecidedEvent);
        break;
      case ENGINE_EVENTS.expired:
      case ENGINE_EVENTS.recalled:
        this.#endWait(asking, event);
        break;
      default:
        if (isMessageReceived(event)) this.#endWait(asking, event);
        else this.#addToCall(event);
    }
  }

  #addRetry(iteration: number, event: LlmRetryEvent): void {
    const isChange = event.nextModel !== undefined;
    if (isChange) this.#nextModel = event.nextModel;
    this.#retries.set(iteration, isChange ? [] : [...this.retries(iteration), event]);
  }

  #addToCall(event: InternalEvent): void {
    const toolCallId = event["toolCallId"] as string;
    const call = this.call(toolCallId);
    if (event.kind === "internal:tool-start") {
      const starts = [...call.starts, event as ToolStartEvent];
      this.#calls.set(toolCallId, { ...call, starts });
    } else if (event.kind === "internal:tool-interrupt") {
      const interrupts = [...call.interrupts, event as ToolInterruptEvent];
      this.#calls.set(toolCallId, { ...call, interrupts });
    } else if (event.kind === "internal:tool-complete") {
      this.#calls.set(toolCallId, { ...call, complete: event as ToolCompleteEvent });
    } else if (event.kind === "internal:approval-requested") {
      const approvals = [...call.approvals, event as ApprovalRequestedEvent];
      this.#calls.set(toolCallId, { ...call, approvals });
    } else {
      const subAgent = withSubAgent(call.subAgent, event);
      if (subAgent !== undefined) this.#calls.set(toolCallId, { ...call, subAgent });
    }
  }

  /** Ends the open wait. There is at most one, because a loop waits for one message at a time. */
  #endWait(iteration: number | undefined, event: InternalEvent): void {
    const waits = iteration === undefined ? undefined : this.#waits.get(iteration);
    const last = waits?.at(-1);
    if (waits === undefined || last === undefined || last.end !== undefined) return;
    const { ask } = last;
    const received = isMessageReceived(event) ? event : undefined;
    const endedAt = received?.timestamp ?? (event["timestamp"] as string | undefined);
    const at = new Date(endedAt ?? ask.until ?? ask.timestamp);
    const isRecalled = event.kind === ENGINE_EVENTS.recalled;
    const end = { message: received?.message, at, place: this.placeOf(event), isRecalled };
    waits[waits.length - 1] = { ask, end };
  }
}

/**
 * Adds an event about a sub-agent to what is known; undefined if the event is about something else.
 */
function withSubAgent(
  known: NotedSubAgent | undefined,
  event: InternalEvent,
): NotedSubAgent | undefined {
  switch (event.kind) {
    case "internal:sub-agent-call":
      return { ...known, call: event as SubAgentCallEvent };
    case "internal:sub-agent":
      return { ...known, task: event as SubAgentEvent };
    case "internal:sub-agent-question": {
      const questions = [...(known?.questions ?? []), event as SubAgentQuestionEvent];
      return { ...known, questions };
    }
    default:
      return undefined;
  }
}
