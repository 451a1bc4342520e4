import {
  type AgentEvent,
  type ApprovalDecision,
  type ArtifactUpdateEvent,
  type InternalEvent,
  type Message,
  type Metadata,
  type StatusUpdateEvent,
  type Task,
  type TaskState,
  isTerminal,
  textOfParts,
} from "@convoke/protocol";
import type {
  AskEvent,
  LlmCallEvent,
  LlmResultEvent,
  Source,
  ThoughtEvent,
  ToolCompleteEvent,
  ToolNoteEvent,
  ToolOutputEvent,
  ToolStartEvent,
} from "@convoke/runtime";
import { jsonOrText } from "@convoke/protocol/internal";
import { type CallDetails, DETAILS_NOTE, detailsOf, isDetails } from "./call-details.ts";
import {
  type CallConfirmation,
  type CoderEvent,
  type CoderToolCall,
  type CoderUsage,
  PLAN_NOTE,
  type PlanEntry,
} from "./coder-event.ts";
import type { AgentSettings } from "./settings.ts";

/** The event with which an agent records the settings that are in effect. */
export interface SettingsEvent {
  readonly kind: "internal:coder/settings";
  readonly taskId: string;
  readonly settings: AgentSettings;
}

/** The end of the id of a message that repeats the answer of a turn, for the next turn of the task. */
export const TURN_ANSWER = "-turn-answer";

/** Whether a message only repeats text that was streamed before. */
export function isTurnAnswer(message: Message | undefined): boolean {
  return message?.messageId.endsWith(TURN_ANSWER) === true;
}

/**
 * Reads the log of a task as what a coding agent does. It is fed with every event of the log, in
 * order, and depends on nothing else, so that two readers of one log always see the same.
 */
export class LogFold {
  readonly #calls = new Map<string, CoderToolCall>();
  readonly #texts = new Map<string, number>();
  #state: TaskState = "submitted";
  #model: string | undefined;
  #timestamp: string | undefined;
  #usage: CoderUsage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };

  get state(): TaskState {
    return this.#state;
  }

  /** The model of the last request. */
  get model(): string | undefined {
    return this.#model;
  }

  /** The time of the last event that has one. */
  get timestamp(): string | undefined {
    return this.#timestamp;
  }

  get usage(): CoderUsage {
    return this.#usage;
  }

  next(event: AgentEvent): readonly CoderEvent[] {
    const { timestamp } = event as Partial<InternalEvent>;
    if (typeof timestamp === "string") this.#timestamp = timestamp;
    switch (event.kind) {
      case "task":
        return this.#created(event as Task);
      case "status-update":
        return this.#status(event as StatusUpdateEvent);
      case "artifact-update":
        return this.#artifact(event as ArtifactUpdateEvent);
      case "internal:llm-call":
        this.#model = (event as unknown as LlmCallEvent).model;
        return [];
      case "internal:thought":
        return [thought((event as unknown as ThoughtEvent).text)];
      case "internal:llm-result":
        return this.#answered(event as unknown as LlmResultEvent);
      case "internal:ask":
        return this.#asked(event as unknown as AskEvent);
      case "internal:approval-decided":
        return this.#decided(event as unknown as DecidedFields);
      case "internal:tool-start":
        return this.#started(event as unknown as ToolStartEvent);
      case "internal:tool-output":
        return this.#output(event as unknown as ToolOutputEvent);
      case "internal:tool-note":
        return this.#noted(event as unknown as ToolNoteEvent);
      case "internal:tool-complete":
        return this.#completed(event as unknown as ToolCompleteEvent);
      case "internal:coder/settings":
        return [{ kind: "settings", settings: (event as unknown as SettingsEvent).settings }];
      default:
        return [];
    }
  }

  #created(task: Task): readonly CoderEvent[] {
    this.#state = task.status.state;
    this.#timestamp = task.status.timestamp;
    return [{ kind: "task", task }];
  }

  /** When the task ends, so do the calls that it has not finished. */
  #status({ status, final, metadata = {} }: StatusUpdateEvent): readonly CoderEvent[] {
    const { state, message, timestamp } = status;
    if (timestamp !== undefined) this.#timestamp = timestamp;
    const cut = isTerminal(state) ? this.#cancelOpenCalls() : [];
    this.#state = state;
    const shown = message !== undefined && !isTurnAnswer(message) && { message };
    return [...cut, { kind: "state", state, final, metadata, ...shown }];
  }

  #cancelOpenCalls(): readonly CoderEvent[] {
    const open = [...this.#calls.values()].filter(
      ({ status }) => status === "PENDING" || status === "EXECUTING",
    );
    return open.map(({ callId }) => this.#change(callId, { status: "CANCELLED" }));
  }

  /** A text that is sent again as a whole, because its end was replaced, is another text. */
  #artifact(event: ArtifactUpdateEvent): readonly CoderEvent[] {
    const { artifact, append } = event;
    const { artifactId, parts } = artifact;
    if (!ANSWER_ID.test(artifactId)) return [{ kind: "artifact", event }];
    const times = (this.#texts.get(artifactId) ?? 0) + (append === true ? 0 : 1);
    this.#texts.set(artifactId, times);
    const text = textOfParts(parts);
    const textId = times <= 1 ? artifactId : `${artifactId}-${times}`;
    return text === "" ? [] : [{ kind: "text", textId, text }];
  }

  #answered({ content, usage, sources }: LlmResultEvent): readonly CoderEvent[] {
    const { inputTokens, outputTokens, cachedInputTokens = 0 } = usage;
    this.#usage = {
      inputTokens: this.#usage.inputTokens + inputTokens,
      outputTokens: this.#usage.outputTokens + outputTokens,
      cachedInputTokens: this.#usage.cachedInputTokens + cachedInputTokens,
    };
    const calls = content.flatMap((piece) => {
      if (piece.kind !== "tool-call") return [];
      const { toolCallId: callId, toolName: name, input } = piece;
      this.#calls.set(callId, { callId, name, status: "PENDING", input: jsonOrText(input) });
      return [this.#change(callId, {})];
    });
    return [...citations(sources), { kind: "usage", usage: this.#usage }, ...calls];
  }

  #asked({ requests }: AskEvent): readonly CoderEvent[] {
    return requests.flatMap((request): readonly CoderEvent[] => {
      const { toolCallId: callId } = request;
      if (request.kind === "approval") {
        const { approval } = request;
        const confirmation: CallConfirmation = { kind: "approval", approval };
        return [this.#confirm(callId, { confirmation, details: detailsOf(approval) })];
      }
      if (request.kind !== "input") return [];
      const { requestId, prompt, options } = request;
      const confirmation: CallConfirmation = {
        kind: "question",
        requestId,
        prompt,
        ...(options && { options }),
      };
      return [this.#confirm(callId, { confirmation })];
    });
  }

  #confirm(callId: string, changes: Partial<CoderToolCall>): CoderEvent {
    const { call } = this.#change(callId, { status: "PENDING", ...changes });
    return { kind: "confirmation", call };
  }

  /** A decision without an approval follows from an earlier one: the caller was not asked. */
  #decided(event: DecidedFields): readonly CoderEvent[] {
    const { toolCallId, approvalId, outcome, option, decidedBy, decidedAt, feedback } = event;
    const decision: ApprovalDecision = {
      outcome,
      decidedAt,
      ...(option && { option }),
      ...(decidedBy !== undefined && { decidedBy }),
      ...(feedback !== undefined && { feedback }),
    };
    const { confirmation, details: proposed } = this.#call(toolCallId);
    const details = editedDetails(proposed, event.arguments);
    const { call } = this.#change(toolCallId, { decision, ...(details && { details }) });
    const isAsked = approvalId !== undefined && confirmation !== undefined;
    return isAsked ? [{ kind: "decision", call, confirmation }] : [];
  }

  #started({ toolCallId, toolName: name, input }: ToolStartEvent): readonly CoderEvent[] {
    return [this.#change(toolCallId, { name, status: "EXECUTING", input })];
  }

  #output({ toolCallId, text }: ToolOutputEvent): readonly CoderEvent[] {
    const { output } = this.#call(toolCallId);
    const { call } = this.#change(toolCallId, { output: (output ?? "") + text });
    return [{ kind: "output", call, text, isFirst: output === undefined }];
  }

  #noted({ toolCallId, name, data }: ToolNoteEvent): readonly CoderEvent[] {
    if (name === PLAN_NOTE) return [{ kind: "plan", entries: data as readonly PlanEntry[] }];
    // The next update of the call shows them.
    if (name === DETAILS_NOTE && isDetails(data)) this.#change(toolCallId, { details: data });
    return [];
  }

  #completed(event: ToolCompleteEvent): readonly CoderEvent[] {
    const { toolCallId, success, output, isDeclined, sources } = event;
    const error = typeof output === "string" ? output : JSON.stringify(output);
    const failed = isDeclined === true ? ("CANCELLED" as const) : ("FAILED" as const);
    const changes: Partial<CoderToolCall> = success
      ? { status: "SUCCEEDED", result: output }
      : { status: failed, error };
    return [...citations(sources), this.#change(toolCallId, changes)];
  }

  #call(callId: string): CoderToolCall {
    return this.#calls.get(callId) ?? { callId, name: "", status: "PENDING", input: {} };
  }

  /** A call that changes no longer waits, unless the change says so. */
  #change(callId: string, changes: Partial<CoderToolCall>): Changed {
    const { confirmation: _, ...earlier } = this.#call(callId);
    const call = { ...earlier, ...changes };
    this.#calls.set(callId, call);
    return { kind: "tool-call", call };
  }
}

type Changed = Extract<CoderEvent, { kind: "tool-call" }>;

interface DecidedFields extends ApprovalDecision {
  readonly toolCallId: string;
  /** Absent if the caller was not asked. */
  readonly approvalId?: string;
  /** The arguments, if the caller has edited them. */
  readonly arguments?: Metadata;
}

/** The details of a change whose content the caller has edited. Its diff is not known any more. */
function editedDetails(
  details: CallDetails | undefined,
  edited: Metadata | undefined,
): CallDetails | undefined {
  if (details?.type !== "edit" || edited === undefined) return undefined;
  const content = edited[details.contentArgument ?? ""];
  if (typeof content !== "string") return undefined;
  const { diff: _, ...rest } = details;
  return { ...rest, newContent: content };
}

/** The artifact to which the agent writes its answer; a later turn of the task has the next number. */
const ANSWER_ID = /^answer-\d+$/;

/** Models begin a thought with its subject in bold, or with a sentence that sums it up. */
const SUBJECT = /^\*\*(?<subject>[^*]+)\*\*\s*(?<description>[^]*)$/;

const MAX_SUBJECT = 80;

function thought(text: string): CoderEvent {
  const { subject, description } = SUBJECT.exec(text.trim())?.groups ?? {};
  if (subject !== undefined) return { kind: "thought", subject, description: description ?? "" };
  const first = text.trim().split(/\n|(?<=[.!?])\s/, 1)[0] ?? "";
  return { kind: "thought", subject: first.slice(0, MAX_SUBJECT), description: text.trim() };
}

function citations(sources: readonly Source[] = []): readonly CoderEvent[] {
  return sources.map((source) => ({ kind: "citation", ...source }));
}
