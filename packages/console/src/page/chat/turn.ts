import {
  type A2AArtifact,
  type AgentEvent,
  EXTENSIONS,
  type Message,
  type Metadata,
  type StatusUpdateEvent,
  type Task,
  applyEvent,
  dataOfType,
  isInterrupted,
  isMessageReceived,
  isPublic,
  isTerminal,
  textOfParts,
  toolActivity,
} from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";

/** A task of a conversation, as a person reads it. */
export interface Turn {
  /** Stays the same from the first message on, before there is a task. */
  readonly key: string;
  readonly task?: Task;
  readonly items: readonly TurnItem[];
  readonly usage?: Metadata;
}

/** What happened in a turn, in its order. */
export type TurnItem =
  | { readonly kind: "message"; readonly message: Message }
  | TextItem
  /** An artifact that is shown beside the conversation. */
  | { readonly kind: "artifact"; readonly artifactId: string }
  | ToolItem
  | { readonly kind: "thought"; readonly text: string }
  | DecisionItem;

/** A part of the answer, up to the next thing that happened. */
interface TextItem {
  readonly kind: "text";
  readonly artifactId: string;
  readonly text: string;
  /** The agent began this artifact again: the text replaces what was shown. */
  readonly isAgain?: true;
}

export interface ToolItem {
  readonly kind: "tool";
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  /** Absent while it runs. */
  readonly outcome?: { readonly isError: boolean; readonly value: unknown };
}

/** How an approval ended. Only operators see who decided. */
export interface DecisionItem {
  readonly kind: "decision";
  readonly approvalId?: string;
  readonly toolName: string;
  readonly outcome: string;
  readonly option?: string;
  readonly decidedBy?: string;
  readonly feedback?: string;
}

/** A turn that begins with a message that is being sent. */
export function startTurn(message: Message): Turn {
  return { key: message.messageId, items: [{ kind: "message", message }] };
}

/** The turn after an event of its task: of a stream, or of the log with its notes. */
export function applyToTurn(turn: Turn, event: AgentEvent): Turn {
  if (!isPublic(event)) return applyNote(turn, event);
  switch (event.kind) {
    case "task":
      return withTask({ ...turn, task: event }, event);
    case "message":
      return withMessage(turn, event);
    case "artifact-update": {
      const task = turn.task && applyEvent(turn.task, event);
      return withChunk({ ...turn, ...(task && { task }) }, event.artifact, event.append === true);
    }
    default:
      return withStatus(turn, event);
  }
}

function applyNote(turn: Turn, event: Exclude<AgentEvent, Task>): Turn {
  if (isMessageReceived(event)) {
    const task = turn.task && applyEvent(turn.task, event);
    return withMessage({ ...turn, ...(task && { task }) }, event.message);
  }
  if (event.kind === "internal:thought") {
    const { text } = event as unknown as { readonly text: string };
    return withItem(turn, { kind: "thought", text });
  }
  if (event.kind === "internal:approval-decided") {
    const decision = event as unknown as Omit<DecisionItem, "kind">;
    return withItem(turn, { ...decision, kind: "decision" });
  }
  const activity = toolActivity(event, "");
  return activity === undefined ? turn : withActivity(turn, activity);
}

/** Adds what a snapshot of the task has and the events did not, which may have been missed. */
function withTask(turn: Turn, task: Task): Turn {
  const history = task.history ?? [];
  let result = turn;
  for (const [place, message] of history.entries()) {
    // Of what the agent said in between, only questions were meant to stay.
    const isShown = message.role === "user" || history[place + 1]?.role === "user";
    if (isShown) result = withMessage(result, message);
  }
  for (const artifact of task.artifacts ?? []) result = withWhole(result, artifact);
  const { state, message } = task.status;
  const isShown = message !== undefined && (isInterrupted(state) || isTerminal(state));
  return isShown ? withMessage(result, message) : result;
}

function withStatus(turn: Turn, event: StatusUpdateEvent): Turn {
  const isActivity =
    event.status.message !== undefined && toolParts(event.status.message).length > 0;
  if (isActivity) return withActivity(turn, event);
  const { state, message } = event.status;
  const task = turn.task && applyEvent(turn.task, event);
  const usage = event.metadata?.["usage"];
  const next = {
    ...turn,
    ...(task && { task }),
    ...(isTerminal(state) && isObject(usage) && { usage }),
  };
  const isShown = message !== undefined && (isInterrupted(state) || isTerminal(state));
  return isShown ? withMessage(next, message) : next;
}

function withMessage(turn: Turn, message: Message): Turn {
  const { messageId, role } = message;
  const isKnown = turn.items.some(
    (item) =>
      item.kind === "message" && item.message.messageId === messageId && item.message.role === role,
  );
  if (isKnown) return turn;
  // Many agents repeat their answer in the last status.
  const text = textOfParts(message.parts).trim();
  if (role === "agent" && text !== "" && text === answerText(turn).trim()) return turn;
  return withItem(turn, { kind: "message", message });
}

/** The text of the answer so far. */
export function answerText({ items }: Turn): string {
  return items.map((item) => (item.kind === "text" ? item.text : "")).join("");
}

/** Whether an artifact is the text of the answer, rather than something that was made. */
function isAnswer({ name, parts }: A2AArtifact): boolean {
  return name === undefined && parts.every(({ kind }) => kind === "text");
}

function withChunk(turn: Turn, artifact: A2AArtifact, isAppended: boolean): Turn {
  const { artifactId, parts } = artifact;
  if (!isAppended) return withWhole(turn, artifact);
  if (turn.items.some((item) => item.kind === "artifact" && item.artifactId === artifactId)) {
    return turn;
  }
  return withText(turn, artifactId, textOfParts(parts));
}

function withWhole(turn: Turn, artifact: A2AArtifact): Turn {
  const { artifactId } = artifact;
  const others = turn.items.filter((item) => !isOf(item, artifactId));
  if (!isAnswer(artifact)) {
    const isKnown = turn.items.some((item) => item.kind === "artifact" && isOf(item, artifactId));
    if (isKnown) return turn;
    return { ...turn, items: [...others, { kind: "artifact", artifactId }] };
  }
  const whole = textOfParts(artifact.parts);
  const known = answerText({ ...turn, items: turn.items.filter((item) => isOf(item, artifactId)) });
  if (whole.startsWith(known)) return withText(turn, artifactId, whole.slice(known.length));
  return { ...turn, items: [...others, { kind: "text", artifactId, text: whole, isAgain: true }] };
}

function isOf(item: TurnItem, artifactId: string): boolean {
  return (item.kind === "text" || item.kind === "artifact") && item.artifactId === artifactId;
}

function withText(turn: Turn, artifactId: string, text: string): Turn {
  if (text === "") return turn;
  const last = turn.items.at(-1);
  if (last?.kind !== "text" || last.artifactId !== artifactId) {
    return withItem(turn, { kind: "text", artifactId, text });
  }
  return { ...turn, items: [...turn.items.slice(0, -1), { ...last, text: last.text + text }] };
}

function withItem(turn: Turn, item: TurnItem): Turn {
  return { ...turn, items: [...turn.items, item] };
}

interface ToolPart {
  readonly toolUseId: string;
  readonly name: string;
  readonly input?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

function toolParts(message: Message): readonly unknown[] {
  const { uri } = EXTENSIONS.toolActivity;
  return ["tool-use", "tool-result"].flatMap((type) =>
    dataOfType(message, uri, type).map(({ data }) => data),
  );
}

function withActivity(turn: Turn, { status }: StatusUpdateEvent): Turn {
  let result = turn;
  for (const data of toolParts(status.message!)) {
    if (isObject(data)) result = withTool(result, data as unknown as ToolPart);
  }
  return result;
}

function withTool(turn: Turn, part: ToolPart): Turn {
  const { toolUseId: id, name, input } = part;
  const place = turn.items.findIndex((item) => item.kind === "tool" && item.id === id);
  const isEnd = "result" in part || "error" in part;
  const known = turn.items[place] as ToolItem | undefined;
  if (known === undefined && !isEnd) return withItem(turn, { kind: "tool", id, name, input });
  if (known === undefined || !isEnd) return turn;
  const isError = part.error !== undefined;
  const value = isError ? part.error : part.result;
  const ended = { ...known, outcome: { isError, value } };
  return { ...turn, items: turn.items.with(place, ended) };
}
