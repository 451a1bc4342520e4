import { BEGINS_AGAIN } from "@convoke/client";
import {
  type A2AArtifact,
  type Approval,
  type ArtifactUpdateEvent,
  type Message,
  type Metadata,
  type PublicEvent,
  type StatusUpdateEvent,
  type Task,
  isInterrupted,
  isTerminal,
  textOfParts,
} from "@convoke/protocol";
import { splitMarkdown } from "../screen/markdown.ts";
import { objectField, textField } from "../terminal/json-fields.ts";
import {
  type Activity,
  type PlanEntry,
  type ToolChange,
  activitiesIn,
  isThought,
  outputCallId,
  workFacts,
} from "./activity.ts";

/** A tool call, from its announcement to its result. */
export interface ToolBlock extends ToolChange {
  readonly kind: "tool";
  readonly startedAt: number;
  readonly endedAt?: number;
  /** The end of what it has written so far. */
  readonly written?: string;
  /** The last progress that a sub-agent reported, and the task in which it works. */
  readonly progress?: string;
  readonly subTaskId?: string;
}

/** A text of the agent: Markdown that may still grow at its end. */
interface TextBlock {
  readonly kind: "text";
  readonly artifactId: string;
  readonly text: string;
  readonly isOpen: boolean;
}

/** One piece of the conversation on the screen. */
export type Block =
  | TextBlock
  | ToolBlock
  | { readonly kind: "user" | "note" | "reasoning" | "error"; readonly text: string }
  | { readonly kind: "plan"; readonly entries: readonly PlanEntry[] }
  | { readonly kind: "title"; readonly text: string; readonly about: string }
  | { readonly kind: "approval"; readonly approval: Approval; readonly isWhole: boolean }
  | {
      readonly kind: "question";
      readonly text: string;
      readonly options: readonly string[];
      readonly isAuthorization: boolean;
    };

/** What is known about the agent's work, for the status line. */
export interface Facts {
  readonly taskId?: string;
  readonly model?: string;
  readonly mode?: string;
}

/**
 * The conversation as far as it is not finished on the screen. The functions below are pure: each
 * returns the next transcript.
 */
export interface Transcript {
  readonly blocks: readonly Block[];
  /** The text of each artifact of the task that was added so far. */
  readonly shown: ReadonlyMap<string, string>;
  /** Tool calls that wait for an approval; they continue with the next turn. */
  readonly waiting: readonly ToolBlock[];
  /** Whether the agent has said something in this turn. */
  readonly hasText: boolean;
  readonly facts: Facts;
}

export const EMPTY: Transcript = {
  blocks: [],
  shown: new Map(),
  waiting: [],
  hasText: false,
  facts: {},
};

/** A turn begins: calls that waited for a decision go on. */
export function beginTurn(transcript: Transcript, now: number): Transcript {
  const resumed = transcript.waiting.map((call) => ({ ...call, startedAt: now }));
  const blocks = [...transcript.blocks, ...resumed];
  return { ...transcript, blocks, waiting: [], hasText: false };
}

/** Adds what an event says. */
export function addEvent(transcript: Transcript, event: PublicEvent, now: number): Transcript {
  switch (event.kind) {
    case "message":
      return addText(transcript, event.messageId, textOfParts(event.parts));
    case "artifact-update":
      return addArtifact(transcript, event);
    case "status-update":
      return addStatus(transcript, event, now);
    case "task":
      return addTask(transcript, event);
    default:
      return event satisfies never;
  }
}

/** The turn has ended. Calls without a result wait for the next turn, or will never have one. */
export function endTurn(transcript: Transcript, isWaiting: boolean, now: number): Transcript {
  const closed = closeText(transcript);
  const running = closed.blocks.filter((block) => isRunning(block));
  if (isWaiting) {
    const blocks = closed.blocks.filter((block) => !isRunning(block));
    return { ...closed, blocks, waiting: [...closed.waiting, ...running] };
  }
  const end = (block: Block): Block =>
    isRunning(block) ? { ...block, state: "canceled", endedAt: now } : block;
  return { ...closed, blocks: closed.blocks.map(end), waiting: [] };
}

/** Adds a block that does not come from the agent's stream. */
export function addBlock(transcript: Transcript, block: Block): Transcript {
  const { blocks } = closeText(transcript);
  return { ...transcript, blocks: [...blocks, block] };
}

/** Takes out the blocks at the start that can no longer change. */
export function takeFinished(transcript: Transcript): {
  readonly finished: readonly Block[];
  readonly transcript: Transcript;
} {
  const blocks = transcript.blocks.flatMap(splitText);
  const count = blocks.findIndex(isUnfinished);
  const finished = count === -1 ? blocks : blocks.slice(0, count);
  return { finished, transcript: { ...transcript, blocks: blocks.slice(finished.length) } };
}

function isRunning(block: Block): block is ToolBlock {
  return block.kind === "tool" && (block.state === "running" || block.state === "pending");
}

function isUnfinished(block: Block): boolean {
  return isRunning(block) || (block.kind === "text" && block.isOpen);
}

/** The finished parts of an open text become blocks of their own. */
function splitText(block: Block): readonly Block[] {
  if (block.kind !== "text" || !block.isOpen) return [block];
  const { done, rest } = splitMarkdown(block.text);
  return [...done.map((text) => ({ ...block, text, isOpen: false })), { ...block, text: rest }];
}

function closeText(transcript: Transcript): Transcript {
  const last = transcript.blocks.at(-1);
  if (last?.kind !== "text" || !last.isOpen) return transcript;
  const before = transcript.blocks.slice(0, -1);
  const closed = last.text.trim() === "" ? [] : [{ ...last, isOpen: false }];
  return { ...transcript, blocks: [...before, ...closed] };
}

function addText(transcript: Transcript, artifactId: string, text: string): Transcript {
  if (text === "") return transcript;
  const last = transcript.blocks.at(-1);
  if (last?.kind === "text" && last.isOpen && last.artifactId === artifactId) {
    const longer = { ...last, text: last.text + text };
    return { ...transcript, blocks: [...transcript.blocks.slice(0, -1), longer], hasText: true };
  }
  const block = { kind: "text", artifactId, text, isOpen: true } as const;
  return { ...transcript, blocks: [...closeText(transcript).blocks, block], hasText: true };
}

function addArtifact(transcript: Transcript, event: ArtifactUpdateEvent): Transcript {
  const { artifact, append, taskId } = event;
  const { artifactId } = artifact;
  const text = textOfParts(artifact.parts);
  const callId = outputCallId(artifactId);
  if (callId !== undefined) return addOutput(transcript, callId, text);
  const before = transcript.shown.get(keyOf(taskId, artifactId));
  if (append !== true && before !== undefined) return replaceText(transcript, taskId, artifact);
  const added = addText(transcript, artifactId, text);
  return show(added, keyOf(taskId, artifactId), `${before ?? ""}${text}`);
}

/** An artifact came as a whole: adds only what is new, or says that it starts again. */
function replaceText(transcript: Transcript, taskId: string, artifact: A2AArtifact): Transcript {
  const { artifactId, parts } = artifact;
  const text = textOfParts(parts);
  const key = keyOf(taskId, artifactId);
  const before = transcript.shown.get(key);
  // The same text may have been streamed in messages.
  const said = transcript.shown.get(keyOf(taskId, STREAMED)) ?? "";
  if (said !== "" && said.startsWith(text)) return show(transcript, key, text);
  const known = said !== "" && text.startsWith(said) ? said : (before ?? "");
  if (text.startsWith(known)) {
    return show(addText(transcript, artifactId, text.slice(known.length)), key, text);
  }
  const noted = addBlock(transcript, { kind: "note", text: BEGINS_AGAIN });
  return show(addText(noted, artifactId, text), key, text);
}

/** In place of the id of an artifact: the text that was streamed in messages. */
const STREAMED = "";

function addStreamed(transcript: Transcript, taskId: string, id: string, text: string): Transcript {
  const key = keyOf(taskId, STREAMED);
  return show(addText(transcript, id, text), key, `${transcript.shown.get(key) ?? ""}${text}`);
}

function show(transcript: Transcript, key: string, text: string): Transcript {
  const [task = ""] = key.split("\n", 1);
  // Only the current task can send its text again.
  const own = [...transcript.shown].filter(([other]) => other.startsWith(`${task}\n`));
  return { ...transcript, shown: new Map([...own, [key, text]]) };
}

function keyOf(taskId: string, artifactId: string): string {
  return `${taskId}\n${artifactId}`;
}

function addTask(transcript: Transcript, task: Task): Transcript {
  const { id, status, artifacts = [], metadata } = task;
  const known = withFacts(transcript, id, metadata);
  const texts = artifacts.filter(({ artifactId }) => outputCallId(artifactId) === undefined);
  const shown = texts.reduce((so, artifact) => replaceText(so, id, artifact), known);
  if (isInterrupted(status.state)) return shown;
  return addMessage(shown, status.state, status.message);
}

function addStatus(transcript: Transcript, event: StatusUpdateEvent, now: number): Transcript {
  const { taskId, status, metadata } = event;
  const known = withFacts(transcript, taskId, metadata);
  const activities = activitiesIn(event);
  if (activities !== undefined) {
    return activities.reduce((so, activity) => addActivity(so, taskId, activity, now), known);
  }
  // A question is shown when the turn has ended.
  if (isInterrupted(status.state)) return known;
  return addMessage(known, status.state, status.message);
}

function addActivity(
  transcript: Transcript,
  taskId: string,
  activity: Activity,
  now: number,
): Transcript {
  switch (activity.kind) {
    case "tool":
      return addToolChange(transcript, activity.change, now);
    case "text":
      return addStreamed(transcript, taskId, activity.id, activity.text);
    case "reasoning":
    case "note":
    case "plan":
      return addBlock(transcript, activity);
    default:
      return activity satisfies never;
  }
}

/** The message of a status: progress, or the answer of an agent that sends no artifacts. */
function addMessage(
  transcript: Transcript,
  state: Task["status"]["state"],
  message: Message | undefined,
): Transcript {
  if (message === undefined) return transcript;
  const text = textOfParts(message.parts);
  if (state === "completed") {
    return transcript.hasText ? transcript : addText(transcript, message.messageId, text);
  }
  // The reason of a failure is shown when the turn has ended.
  if (isTerminal(state)) return transcript;
  return text === "" ? transcript : addProgress(transcript, message, text);
}

function addToolChange(transcript: Transcript, change: ToolChange, now: number): Transcript {
  const place = findCall(transcript, change.id);
  const known = transcript.blocks[place] as ToolBlock | undefined;
  const isOver = change.state !== "running" && change.state !== "pending";
  const end = isOver ? { endedAt: now } : {};
  if (known === undefined) {
    return addBlock(transcript, { kind: "tool", startedAt: now, ...change, ...end });
  }
  // A stream that is replayed announces the call again.
  if (!isOver && !isRunning(known)) return transcript;
  const startedAt = known.state === "pending" ? now : known.startedAt;
  const input = change.input ?? known.input;
  const call: ToolBlock = { ...known, ...change, name: known.name, input, startedAt, ...end };
  return { ...transcript, blocks: transcript.blocks.with(place, call) };
}

/** How much of the live output is kept; only its last lines are shown. */
const MOST_WRITTEN = 4000;

function addOutput(transcript: Transcript, callId: string, text: string): Transcript {
  const place = findCall(transcript, callId);
  const call = transcript.blocks[place] as ToolBlock | undefined;
  if (call === undefined) return transcript;
  const written = `${call.written ?? ""}${text}`.slice(-MOST_WRITTEN);
  return { ...transcript, blocks: transcript.blocks.with(place, { ...call, written }) };
}

function findCall({ blocks }: Transcript, id: string): number {
  return blocks.findIndex((block) => block.kind === "tool" && block.id === id);
}

/** Progress of a sub-agent belongs to the tool call that runs it. */
function addProgress(transcript: Transcript, message: Message, text: string): Transcript {
  const kind = isThought(message.metadata) ? "reasoning" : "note";
  const subAgent = objectField(message.metadata, "subAgent");
  const name = textField(subAgent, "name");
  const taskId = textField(subAgent, "taskId");
  const isCall = (block: Block): boolean =>
    isRunning(block) &&
    block.name === name &&
    (block.subTaskId === undefined || taskId === "" || block.subTaskId === taskId);
  const place = name === "" ? -1 : transcript.blocks.findIndex(isCall);
  if (place === -1) return addBlock(transcript, { kind, text });
  const call = transcript.blocks[place] as ToolBlock;
  const told = { ...call, progress: text, ...(taskId !== "" && { subTaskId: taskId }) };
  return { ...transcript, blocks: transcript.blocks.with(place, told) };
}

function withFacts(transcript: Transcript, taskId: string, metadata?: Metadata): Transcript {
  return { ...transcript, facts: { ...transcript.facts, taskId, ...workFacts(metadata) } };
}
