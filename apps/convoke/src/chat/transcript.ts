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
import { type ToolChange, isThought, toolChangesIn } from "./activity.ts";

/** A tool call, from its announcement to its result. */
export interface ToolBlock extends Omit<ToolChange, "state"> {
  readonly kind: "tool";
  readonly state: ToolChange["state"] | "canceled";
  readonly startedAt: number;
  readonly endedAt?: number;
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
  /** The text of each artifact that was added so far. */
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
      return addTask(transcript, event, now);
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
  return block.kind === "tool" && block.state === "running";
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
  const before = transcript.shown.get(keyOf(taskId, artifact));
  const text = textOfParts(artifact.parts);
  if (append !== true && before !== undefined) return replaceText(transcript, taskId, artifact);
  return show(
    addText(transcript, artifact.artifactId, text),
    taskId,
    artifact,
    `${before ?? ""}${text}`,
  );
}

/** An artifact came again as a whole: adds only what is new, or says that it starts again. */
function replaceText(transcript: Transcript, taskId: string, artifact: A2AArtifact): Transcript {
  const before = transcript.shown.get(keyOf(taskId, artifact)) ?? "";
  const text = textOfParts(artifact.parts);
  const { artifactId } = artifact;
  if (text.startsWith(before)) {
    return show(addText(transcript, artifactId, text.slice(before.length)), taskId, artifact, text);
  }
  const noted = addBlock(transcript, {
    kind: "note",
    text: "The agent starts this part of its answer again.",
  });
  return show(addText(noted, artifactId, text), taskId, artifact, text);
}

function show(
  transcript: Transcript,
  taskId: string,
  artifact: A2AArtifact,
  text: string,
): Transcript {
  // Only the current task can send its artifacts again.
  const own = [...transcript.shown].filter(([key]) => key.startsWith(`${taskId}\n`));
  return { ...transcript, shown: new Map([...own, [keyOf(taskId, artifact), text]]) };
}

function keyOf(taskId: string, { artifactId }: A2AArtifact): string {
  return `${taskId}\n${artifactId}`;
}

function addTask(transcript: Transcript, task: Task, now: number): Transcript {
  const { id, status, artifacts = [], metadata } = task;
  const known = withFacts(transcript, id, metadata);
  const shown = artifacts.reduce((so, artifact) => replaceText(so, id, artifact), known);
  if (isInterrupted(status.state)) return shown;
  return addMessage(shown, status.state, status.message, now);
}

function addStatus(transcript: Transcript, event: StatusUpdateEvent, now: number): Transcript {
  const { taskId, status, metadata } = event;
  const known = withFacts(transcript, taskId, metadata);
  // A question is shown when the turn has ended.
  if (isInterrupted(status.state)) return known;
  return addMessage(known, status.state, status.message, now);
}

/** The message of a status: tool calls, progress, or the answer of an agent that sends no artifacts. */
function addMessage(
  transcript: Transcript,
  state: Task["status"]["state"],
  message: Message | undefined,
  now: number,
): Transcript {
  if (message === undefined) return transcript;
  const text = textOfParts(message.parts);
  if (state === "completed") {
    return transcript.hasText ? transcript : addText(transcript, message.messageId, text);
  }
  // The reason of a failure is shown when the turn has ended.
  if (isTerminal(state)) return transcript;
  const called = toolChangesIn(message).reduce(
    (so, change) => addToolChange(so, change, now),
    transcript,
  );
  return text === "" ? called : addProgress(called, message, text);
}

function addToolChange(transcript: Transcript, change: ToolChange, now: number): Transcript {
  const isCall = (block: Block): boolean => block.kind === "tool" && block.id === change.id;
  const place = transcript.blocks.findIndex(isCall);
  const known = transcript.blocks[place] as ToolBlock | undefined;
  if (known === undefined) {
    return addBlock(transcript, {
      kind: "tool",
      startedAt: now,
      ...change,
      ...(change.state !== "running" && { endedAt: now }),
    });
  }
  // A stream that is replayed announces a call again.
  if (change.state === "running") return transcript;
  const ended: ToolBlock = { ...known, state: change.state, output: change.output, endedAt: now };
  return { ...transcript, blocks: transcript.blocks.with(place, ended) };
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
  const report = objectField(metadata, "agent");
  const model = textField(report, "model");
  const mode = textField(report, "mode");
  const facts = {
    ...transcript.facts,
    taskId,
    ...(model !== "" && { model }),
    ...(mode !== "" && { mode }),
  };
  return { ...transcript, facts };
}
