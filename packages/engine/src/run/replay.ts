import {
  type A2APart,
  type AgentEvent,
  type ArtifactUpdateEvent,
  type StatusUpdateEvent,
  type Task,
  isInterrupted,
  joinParts,
  partsAfter,
  textPart,
} from "@convoke/protocol";
import { areSameParts, isSamePart } from "../files/file-parts.ts";
import type { TurnLog } from "../log/turn-log.ts";

/** What the new attempt has produced of one artifact. */
interface Progress {
  parts: readonly A2APart[];
  /** Whether the attempt has produced more than the log has, so that everything is written from now on. */
  isAhead: boolean;
}

/**
 * Compares the output of another attempt with the log. Output that the log already
 * has is not written again, so that all connections of a client together receive it
 * once. If it differs, the artifact begins again (`append: false`) with what this
 * attempt produced, so that the task shows the output of the last attempt.
 */
export class Replay {
  readonly #task: Task;
  readonly #closed: ReadonlySet<string>;
  readonly #statuses: StatusUpdateEvent[];
  /** Versions of artifacts that the log has replaced since, and that this attempt has not produced yet. */
  readonly #replaced: Map<string, readonly (readonly A2APart[])[]>;
  readonly #progress = new Map<string, Progress>();

  constructor(log: TurnLog, task: Task) {
    this.#task = task;
    this.#closed = log.closed;
    this.#statuses = [...log.statuses];
    this.#replaced = new Map(log.replaced);
  }

  /** Returns the part of an event that has to be written. */
  next(event: AgentEvent): AgentEvent | undefined {
    if (event.kind === "artifact-update") return this.#artifact(event as ArtifactUpdateEvent);
    if (event.kind === "status-update") return this.#status(event as StatusUpdateEvent);
    return event;
  }

  /** Replaces artifacts of which this attempt produced less than the log has. */
  finish(): readonly AgentEvent[] {
    return [...this.#progress].flatMap(([artifactId, { parts, isAhead }]) => {
      const logged = this.#logged(artifactId);
      if (isAhead || logged === undefined || areSameParts(parts, logged)) return [];
      return [this.#update(artifactId, parts, { append: false, lastChunk: true })];
    });
  }

  #artifact(event: ArtifactUpdateEvent): AgentEvent | undefined {
    const { artifact, append, lastChunk } = event;
    const { artifactId } = artifact;
    const logged = this.#logged(artifactId);
    const progress = this.#progress.get(artifactId) ?? { parts: [], isAhead: logged === undefined };
    this.#progress.set(artifactId, progress);
    if (logged === undefined || progress.isAhead) return event;
    if (append !== true && this.#wasReplaced(artifactId, artifact.parts)) {
      progress.parts = artifact.parts;
      return undefined;
    }
    progress.parts = append === true ? joinParts(progress.parts, artifact.parts) : artifact.parts;
    const rest = partsAfter(progress.parts, logged, isSamePart);
    if (rest !== undefined && rest.length === 0) {
      // Equal to the log; only the mark of the last chunk may be missing.
      if (lastChunk !== true || this.#closed.has(artifactId)) return undefined;
      progress.isAhead = true;
      return { ...event, artifact: { ...artifact, parts: [textPart("")] }, append: true };
    }
    const isBehind = partsAfter(logged, progress.parts, isSamePart) !== undefined;
    if (isBehind && lastChunk !== true) return undefined;
    progress.isAhead = true;
    return rest === undefined
      ? { ...event, artifact: { ...artifact, parts: progress.parts }, append: false }
      : { ...event, artifact: { ...artifact, parts: rest }, append: true };
  }

  /** Whether the log has these parts as a version that was replaced later, as they will be again. */
  #wasReplaced(artifactId: string, parts: readonly A2APart[]): boolean {
    const versions = this.#replaced.get(artifactId) ?? [];
    const place = versions.findIndex((version) => areSameParts(version, parts));
    if (place >= 0) this.#replaced.set(artifactId, versions.slice(place + 1));
    return place >= 0;
  }

  /** Statuses are compared in order, up to the first that differs. */
  #status(event: StatusUpdateEvent): AgentEvent | undefined {
    if (isPendingQuestion(this.#task, event)) return undefined;
    const logged = this.#statuses.shift();
    const isSame =
      logged !== undefined &&
      logged.status.state === event.status.state &&
      areSameParts(logged.status.message?.parts ?? [], event.status.message?.parts ?? []);
    if (isSame) return undefined;
    this.#statuses.length = 0;
    return event;
  }

  #logged(artifactId: string): readonly A2APart[] | undefined {
    return this.#task.artifacts?.find((artifact) => artifact.artifactId === artifactId)?.parts;
  }

  #update(
    artifactId: string,
    parts: readonly A2APart[],
    flags: Pick<ArtifactUpdateEvent, "append" | "lastChunk">,
  ): AgentEvent {
    const { id: taskId, contextId } = this.#task;
    return {
      kind: "artifact-update",
      taskId,
      contextId,
      artifact: { artifactId, parts },
      ...flags,
    };
  }
}

/** Whether it is the question that the task waits for, which is not asked again. */
function isPendingQuestion(task: Task, { status }: StatusUpdateEvent): boolean {
  if (!isInterrupted(status.state) || status.state !== task.status.state) return false;
  const { messageId } = status.message ?? {};
  return messageId !== undefined && messageId === task.status.message?.messageId;
}
