import {
  type A2AArtifact,
  type AgentEvent,
  type ArtifactUpdateEvent,
  type InternalEvent,
  type Message,
  type StatusUpdateEvent,
  type Task,
  type TaskState,
  agentMessage,
  applyEvent,
  isFinal,
  isInterrupted,
  isPublic,
  isTerminal,
  textOfParts,
  textPart,
} from "@convoke/protocol";

type Listener = (event: AgentEvent) => void;

/** One task that lives in this process alone: its log, its fold, and who listens. */
export class LocalTask {
  readonly log: AgentEvent[] = [];
  readonly message: Message;
  readonly conversation: readonly Message[];
  #task: Task;
  readonly #opening: Task;
  readonly #listeners = new Set<Listener>();
  /** The texts of artifacts as an attempt that was begun anew repeats them; nothing once it is ahead. */
  #replayed: Map<string, string | undefined> | undefined;

  constructor(opening: Task, message: Message, conversation: readonly Message[]) {
    this.#opening = opening;
    this.#task = opening;
    this.message = message;
    this.conversation = conversation;
    this.log.push(opening);
  }

  get task(): Task {
    return this.#task;
  }

  /** As it stood when its turn began. */
  get opening(): Task {
    return this.#opening;
  }

  get isOver(): boolean {
    return isTerminal(this.#task.status.state);
  }

  get isWaiting(): boolean {
    return isInterrupted(this.#task.status.state);
  }

  /** What listeners hear from now on. Returns how to stop. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get isHeard(): boolean {
    return this.#listeners.size > 0;
  }

  /** From here on what is said again is dropped, as far as it is the same. */
  beginAnew(): void {
    this.#replayed = new Map();
  }

  append(event: AgentEvent): void {
    const fresh =
      event.kind === "artifact-update" ? this.#rest(event as ArtifactUpdateEvent) : event;
    if (fresh === undefined || this.isOver) return;
    this.log.push(fresh);
    this.#task = applyEvent(this.#task, fresh);
    for (const listener of this.#listeners) listener(fresh);
  }

  status(
    state: TaskState,
    facts: { readonly text?: string; readonly metadata?: StatusUpdateEvent["metadata"] } = {},
  ): void {
    const { id: taskId, contextId } = this.#task;
    const { text, metadata } = facts;
    const message =
      text === undefined ? undefined : agentMessage(`${taskId}-${this.log.length}`, text);
    const timestamp = new Date().toISOString();
    const status = { state, timestamp, ...(message && { message }) };
    const event = { kind: "status-update", taskId, contextId, status } as const;
    this.append({ ...event, final: isFinal(state), ...(metadata && { metadata }) });
  }

  /** What a conversation tells of it. */
  told(): readonly Message[] {
    const { id, history = [], artifacts = [], status } = this.#task;
    const parts = artifacts.flatMap((artifact) => artifact.parts);
    const answer = parts.length === 0 ? [] : [agentMessage(`${id}-answer`, parts)];
    return [...history, ...answer, ...(status.message ? [status.message] : [])];
  }

  /** What remains to be said of a chunk of an artifact that is there already. */
  #rest(event: ArtifactUpdateEvent): ArtifactUpdateEvent | undefined {
    const replayed = this.#replayed;
    const { artifact, append, lastChunk } = event;
    const { artifactId } = artifact;
    const isAheadAlready =
      replayed?.has(artifactId) === true && replayed.get(artifactId) === undefined;
    const logged = textOnly(this.#logged(artifactId));
    if (replayed === undefined || isAheadAlready || logged === undefined) return event;
    const text =
      (append === true ? (replayed.get(artifactId) ?? "") : "") + textOfParts(artifact.parts);
    const isBehind = logged.startsWith(text) && lastChunk !== true;
    replayed.set(artifactId, isBehind ? text : undefined);
    if (isBehind) return undefined;
    const isMore = text.startsWith(logged);
    const parts = [textPart(isMore ? text.slice(logged.length) : text)];
    return { ...event, artifact: { ...artifact, parts }, append: isMore };
  }

  #logged(artifactId: string): A2AArtifact | undefined {
    return this.#task.artifacts?.find((artifact) => artifact.artifactId === artifactId);
  }
}

/** The text of an artifact that is nothing else. */
function textOnly(artifact: A2AArtifact | undefined): string | undefined {
  return artifact?.parts.every(({ kind }) => kind === "text") === true
    ? textOfParts(artifact.parts)
    : undefined;
}

/** What was noted so far, for an attempt that goes on from it. */
export function journalOf({ log }: LocalTask): readonly InternalEvent[] {
  return log.filter((event): event is InternalEvent => !isPublic(event));
}
