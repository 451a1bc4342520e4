import {
  type A2APart,
  type AgentEvent,
  type ArtifactUpdateEvent,
  type StatusUpdateEvent,
  type Task,
  isInterrupted,
  joinParts,
  partsBeyond,
  textPart,
} from "@convoke/protocol";
import { isDeepStrictEqual } from "node:util";
import type { TurnLog } from "../log/turn-log.ts";

/** How far the new attempt has come with one artifact. */
interface Progress {
  parts: readonly A2APart[];
  /** It has left what the log knows: everything is written from here on. */
  isAhead: boolean;
}

/**
 * Lets a turn that is begun anew catch up. What it says again is compared with
 * what the log has: the same is not written twice; where it differs, the
 * artifact is opened again with what this attempt says, so that the fold is
 * that of the last attempt.
 */
export class Replay {
  readonly #task: Task;
  readonly #closed: ReadonlySet<string>;
  readonly #statuses: StatusUpdateEvent[];
  readonly #progress = new Map<string, Progress>();

  constructor(log: TurnLog, task: Task) {
    this.#task = task;
    this.#closed = log.closed;
    this.#statuses = [...log.statuses];
  }

  /** What remains to be written of an event. */
  next(event: AgentEvent): AgentEvent | undefined {
    if (event.kind === "artifact-update") return this.#artifact(event as ArtifactUpdateEvent);
    if (event.kind === "status-update") return this.#status(event as StatusUpdateEvent);
    return event;
  }

  /** Artifacts of which this attempt said less than the log has are opened again. */
  finish(): readonly AgentEvent[] {
    return [...this.#progress].flatMap(([artifactId, { parts, isAhead }]) => {
      const logged = this.#logged(artifactId);
      if (isAhead || logged === undefined || isDeepStrictEqual(parts, logged)) return [];
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
    progress.parts = append === true ? joinParts(progress.parts, artifact.parts) : artifact.parts;
    const rest = partsBeyond(progress.parts, logged, isDeepStrictEqual);
    if (rest !== undefined && rest.length === 0) {
      // As far as the log goes; only the mark of its end may be missing.
      if (lastChunk !== true || this.#closed.has(artifactId)) return undefined;
      progress.isAhead = true;
      return { ...event, artifact: { ...artifact, parts: [textPart("")] }, append: true };
    }
    const isBehind = partsBeyond(logged, progress.parts, isDeepStrictEqual) !== undefined;
    if (isBehind && lastChunk !== true) return undefined;
    progress.isAhead = true;
    return rest === undefined
      ? { ...event, artifact: { ...artifact, parts: progress.parts }, append: false }
      : { ...event, artifact: { ...artifact, parts: rest }, append: true };
  }

  /** Statuses are said in order; the first that differs ends the comparison. */
  #status(event: StatusUpdateEvent): AgentEvent | undefined {
    if (isQuestionOf(this.#task, event)) return undefined;
    const logged = this.#statuses.shift();
    const isSame =
      logged !== undefined &&
      logged.status.state === event.status.state &&
      isDeepStrictEqual(logged.status.message?.parts, event.status.message?.parts);
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

/** Whether it is the question that the task waits with: it stands, and is not asked again. */
function isQuestionOf(task: Task, { status }: StatusUpdateEvent): boolean {
  if (!isInterrupted(status.state) || status.state !== task.status.state) return false;
  const { messageId } = status.message ?? {};
  return messageId !== undefined && messageId === task.status.message?.messageId;
}
