import type { SessionUpdate, ToolCall } from "@agentclientprotocol/sdk";
import type { CoderUsage } from "@convoke/coder";
import { BEGINS_AGAIN } from "@convoke/client";
import {
  type A2AArtifact,
  type A2APart,
  type Approval,
  type DataPart,
  EXTENSIONS,
  type Message,
  type PublicEvent,
  type StatusUpdateEvent,
  type Task,
  type TaskState,
  approvalsIn,
  isInterrupted,
  isTerminal,
  textOfParts,
} from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { isDeepStrictEqual } from "node:util";
import { textField } from "../terminal/json-fields.ts";
import { type TerminalKey, newTerminal, runsCommand, terminalChange } from "./command-output.ts";
import { toContent } from "./content.ts";
import {
  type ReportedCall,
  activityCall,
  coderCall,
  isOver,
  planEntries,
  thoughtText,
} from "./reports.ts";
import { callOf, toToolCall } from "./tool-call.ts";

const CODER = EXTENSIONS.coder.uri;
const ACTIVITY = EXTENSIONS.toolActivity.uri;

export interface TaskUpdatesOptions {
  /** The folder of the session. */
  readonly cwd: string;
  /** Whether the agent speaks the coder extension: its answer is then in messages, not in an artifact. */
  readonly isCoder: boolean;
  /** Whether the messages of the user are shown: those of an earlier session. */
  readonly isReplay: boolean;
  /** How the editor receives the output of commands. Absent if it has no terminals for this. */
  readonly terminals?: TerminalKey | undefined;
}

type Updates = Generator<SessionUpdate, void, undefined>;

/**
 * What one task shows to an editor. It is fed with the events of a stream, and with snapshots of the
 * task: what was already shown is not shown again. A tool call is announced before it is updated,
 * and does not change after its end, whatever the agent sends.
 */
export class TaskUpdates {
  readonly #options: TaskUpdatesOptions;
  readonly #calls = new Map<string, ShownCall>();
  readonly #texts = new Map<string, ShownText>();
  readonly #shown = new Set<string>();
  #usage: CoderUsage | undefined;
  #finish = "";
  /** The folder that paths are relative to. */
  #cwd: string;

  constructor(options: TaskUpdatesOptions) {
    this.#options = options;
    this.#cwd = options.cwd;
  }

  /** The tokens of the task so far, if the agent reports them. */
  get usage(): CoderUsage | undefined {
    return this.#usage;
  }

  /** Why the model ended its answer, if it did not finish it: `length` or `content-filter`. */
  get finish(): string {
    return this.#finish;
  }

  *next(event: PublicEvent): Updates {
    switch (event.kind) {
      case "message":
        return yield* this.#message(event, "working");
      case "task":
        return yield* this.#snapshot(event);
      case "status-update":
        return yield* this.#status(event);
      case "artifact-update":
        return yield* this.#artifact(event.taskId, event.artifact, event.append === true);
      default:
        return event satisfies never;
    }
  }

  /** Announces the call that waits for an approval, if the agent has not reported it. */
  *announce(taskId: string, approval: Approval): Updates {
    const known = this.#calls.get(approvalCallId(taskId, approval));
    if (known?.call.title !== undefined) return;
    yield* this.#call(approvalCallId(taskId, approval), { ...callOf(approval), ...known?.call });
  }

  /** The call of an approval as it is shown. */
  toolCall(taskId: string, approval: Approval): ToolCall {
    const id = approvalCallId(taskId, approval);
    const view = { cwd: this.#cwd, hasTerminal: false };
    return this.#calls.get(id)?.shown ?? toToolCall(id, callOf(approval), view);
  }

  /** The question that a task waits with, as a message of the agent. */
  *question({ status }: Task, text: string): Updates {
    const id = `${status.message?.messageId ?? ""}-question`;
    yield* this.#text({ id, text, isWhole: true, as: MESSAGE });
  }

  *#snapshot(task: Task): Updates {
    const { id, history = [], artifacts = [], status } = task;
    for (const message of history) yield* this.#message(message, "completed", id);
    for (const artifact of artifacts) yield* this.#artifact(id, artifact, false);
    if (status.message !== undefined) yield* this.#message(status.message, status.state, id);
    if (isTerminal(status.state)) yield* this.#end(id, status.state);
  }

  *#status({ taskId, status, metadata }: StatusUpdateEvent): Updates {
    const { state, message } = status;
    if (message !== undefined) {
      if (textField(metadata?.[CODER], "kind") === "text") yield* this.#delta(message);
      else yield* this.#message(message, state, taskId);
    }
    if (!isTerminal(state)) return;
    this.#finish = textField(metadata, "finish") || textField(metadata, "reason");
    yield* this.#end(taskId, state);
  }

  /** More of a text: all its chunks have one id. */
  *#delta({ messageId: id, parts }: Message): Updates {
    const text = textOfParts(parts);
    yield* this.#text({ id, text, isWhole: false, as: MESSAGE });
  }

  *#message(message: Message, state: TaskState, taskId = ""): Updates {
    const { role, messageId, parts } = message;
    const { inParts, inMetadata } = approvalsIn(message);
    // Questions are asked by the turn, and approvals have requests of their own. Later snapshots
    // still have the message.
    const isAsked = inParts.length + inMetadata.length > 0 || isInterrupted(state);
    if (role === "user" && !this.#options.isReplay) return;
    // A message that only reports progress is a thought.
    const agent = state === "working" ? THOUGHT : MESSAGE;
    const as = role === "user" ? "user_message_chunk" : agent;
    for (const [place, part] of parts.entries()) {
      const id = place === 0 ? messageId : `${messageId}-${place}`;
      if (part.kind === "data" && isMarked(part)) {
        if (role === "agent") yield* this.#data(taskId, part, id);
      } else if (isAsked) this.#texts.set(id, { text: textOfParts([part]), version: 1 });
      else if (part.kind === "text") yield* this.#text({ id, text: part.text, isWhole: true, as });
      else yield* this.#block(id, part, as);
    }
  }

  /** What an extension reports. The agent may be any, so what is malformed is left out. */
  *#data(taskId: string, { data, metadata }: DataPart, id: string): Updates {
    if (!isObject(data)) return;
    const type = textField(metadata?.[CODER], "type") || textField(metadata?.[ACTIVITY], "type");
    switch (type) {
      case "tool-call":
      case "confirmation":
      case "decision":
        return yield* this.#reported(taskId, textField(data, "callId"), coderCall(data));
      case "tool-use":
      case "tool-result":
        return yield* this.#reported(taskId, textField(data, "toolUseId"), activityCall(data));
      case "thought":
        return yield* this.#text({ id, text: thoughtText(data), isWhole: true, as: THOUGHT });
      case "citation": {
        const url = textField(data, "url");
        const text = `\n[${textField(data, "title") || url}](${url})\n`;
        return yield* this.#text({ id, text, isWhole: true, as: MESSAGE });
      }
      case "plan":
        return yield* this.#once(id, { sessionUpdate: "plan", entries: planEntries(data) });
      case "settings":
        return yield* this.#settings(textField(data, "workspacePath"), textField(data, "mode"));
      case "usage":
        this.#usage = data as unknown as CoderUsage;
        return;
      default:
    }
  }

  *#reported(taskId: string, callId: string, call: ReportedCall): Updates {
    if (callId !== "") yield* this.#call(callIdFor(taskId, callId), call);
  }

  /** What is in effect, if it is not what the session asked for. */
  *#settings(workspace: string, currentModeId: string): Updates {
    if (workspace !== "") this.#cwd = workspace;
    if (currentModeId !== "") yield { sessionUpdate: "current_mode_update", currentModeId };
  }

  *#artifact(taskId: string, artifact: A2AArtifact, isMore: boolean): Updates {
    const { artifactId, parts } = artifact;
    const { isCoder } = this.#options;
    // Only snapshots have it, and they have its text in messages too.
    if (isCoder && /^answer-\d+$/.test(artifactId)) return;
    const callId = isCoder
      ? /^tool-(?<id>.+)-output$/s.exec(artifactId)?.groups?.["id"]
      : undefined;
    const text = textOfParts(parts);
    if (callId !== undefined) return yield* this.#output(callIdFor(taskId, callId), text, isMore);
    yield* this.#text({ id: artifactId, text, isWhole: !isMore, as: MESSAGE });
    for (const part of parts) {
      const key = `${artifactId} ${JSON.stringify(part)}`;
      if (part.kind !== "text") yield* this.#block(key, part, MESSAGE);
    }
  }

  *#output(id: string, text: string, isMore: boolean): Updates {
    const { output = "", status = "in_progress" } = this.#calls.get(id)?.call ?? {};
    yield* this.#call(id, { status, output: isMore ? output + text : text });
  }

  *#call(id: string, changes: ReportedCall): Updates {
    const before = this.#calls.get(id);
    if (before !== undefined && isOver(before.call.status)) return;
    const call = { ...before?.call, ...changes };
    const { terminals } = this.#options;
    // An editor creates the terminal of a call with the call, so a later change does not add one.
    const hasTerminal = before?.hasTerminal ?? (terminals !== undefined && runsCommand(call));
    const shown = toToolCall(id, call, { cwd: this.#cwd, hasTerminal });
    this.#calls.set(id, { call, shown, hasTerminal });
    if (before === undefined) {
      const meta = hasTerminal && { _meta: newTerminal(id, call, this.#cwd) };
      yield { sessionUpdate: "tool_call", ...shown, ...meta };
    }
    const changed = Object.entries(shown).filter(
      ([field, value]) =>
        !isDeepStrictEqual(value, (before?.shown ?? shown)[field as keyof ToolCall]),
    );
    const meta = hasTerminal
      ? terminalChange(terminals!, id, { before: before?.call ?? {}, after: call })
      : undefined;
    if (changed.length === 0 && meta === undefined) return;
    const fields = Object.fromEntries(changed) as Partial<ToolCall>;
    yield {
      sessionUpdate: "tool_call_update",
      ...fields,
      toolCallId: id,
      ...(meta && { _meta: meta }),
    };
  }

  /** A task that has ended has no open calls. */
  *#end(taskId: string, state: TaskState): Updates {
    const status = state === "completed" ? "completed" : "failed";
    for (const [id, { call }] of this.#calls) {
      if (id.startsWith(callIdFor(taskId, "")) && !isOver(call.status)) {
        yield* this.#call(id, { status });
      }
    }
  }

  /** A text or more of it. One that begins again is shown as another message, which says so. */
  *#text({ id, text, isWhole, as }: TextUpdate): Updates {
    const before = this.#texts.get(id) ?? { text: "", version: 1 };
    const isSame = !isWhole || text.startsWith(before.text);
    const version = isSame ? before.version : before.version + 1;
    const rest = isWhole && isSame ? text.slice(before.text.length) : text;
    this.#texts.set(id, { text: isWhole ? text : before.text + text, version });
    if (rest === "") return;
    const shown = isSame ? rest : `\n\n${BEGINS_AGAIN}\n\n${rest}`;
    const messageId = version === 1 ? id : `${id}-${version}`;
    yield { sessionUpdate: as, content: { type: "text", text: shown }, messageId };
  }

  *#block(key: string, part: A2APart, as: TextUpdate["as"]): Updates {
    yield* this.#once(key, { sessionUpdate: as, content: toContent(part) });
  }

  /** What snapshots repeat is shown once. */
  *#once(key: string, update: SessionUpdate): Updates {
    if (!this.#shown.has(key)) yield update;
    this.#shown.add(key);
  }
}

const MESSAGE = "agent_message_chunk";
const THOUGHT = "agent_thought_chunk";

interface TextUpdate {
  readonly id: string;
  readonly text: string;
  /** The text as a whole, or more of it. */
  readonly isWhole: boolean;
  readonly as: typeof MESSAGE | typeof THOUGHT | "user_message_chunk";
}

interface ShownText {
  readonly text: string;
  readonly version: number;
}

interface ShownCall {
  readonly call: ReportedCall;
  readonly shown: ToolCall;
  readonly hasTerminal: boolean;
}

/** Unique in the session: models number the calls of each task from the beginning. */
function callIdFor(taskId: string, callId: string): string {
  return `${taskId}/${callId}`;
}

/** A call of a sub-agent is not reported, so its approval stands for it. */
function approvalCallId(taskId: string, { id, tool, from = [] }: Approval): string {
  return callIdFor(taskId, from.length === 0 ? tool.callId : id);
}

/** Whether a part belongs to an extension; others are data of the answer. */
function isMarked({ metadata = {} }: DataPart): boolean {
  return Object.values(EXTENSIONS).some(({ uri }) => metadata[uri] !== undefined);
}
