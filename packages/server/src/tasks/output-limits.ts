import type {
  A2APart,
  AgentEvent,
  ArtifactUpdateEvent,
  StatusUpdateEvent,
  Task,
} from "@convoke/protocol";
import type { Seq } from "./backend.ts";
import { LimitError, type Limits } from "./limits.ts";

/** Counts what an agent writes to one task, and stops it where a limit is. */
export class OutputLimits {
  readonly #limits: Limits;
  #events: Seq;
  #history: number;
  #artifacts: Set<string>;
  #length: number;
  #lastArtifact = "";

  /** The task as it was when the run began. */
  constructor(limits: Limits, task: Task, head: Seq) {
    const artifacts = task.artifacts ?? [];
    this.#limits = limits;
    this.#events = head;
    this.#history = task.history?.length ?? 0;
    this.#artifacts = new Set(artifacts.map(({ artifactId }) => artifactId));
    this.#length = artifacts.reduce((sum, { parts }) => sum + lengthOf(parts), 0);
  }

  /** Counts an event that is about to be written, or throws. */
  count(event: AgentEvent): void {
    if (++this.#events > this.#limits.events) throw this.#exceeded("events");
    if (event.kind === "artifact-update") return this.#countArtifact(event as ArtifactUpdateEvent);
    if (event.kind !== "status-update") return;
    // The message of a status moves to the history when the next one comes.
    const isSaid = (event as StatusUpdateEvent).status.message !== undefined;
    if (isSaid && ++this.#history > this.#limits.history) throw this.#exceeded("history");
  }

  #countArtifact({ artifact }: ArtifactUpdateEvent): void {
    const { artifactId, parts } = artifact;
    if (artifactId !== this.#lastArtifact) {
      this.#artifacts.add(artifactId);
      this.#lastArtifact = artifactId;
      if (this.#artifacts.size > this.#limits.artifacts) throw this.#exceeded("artifacts");
    }
    this.#length += lengthOf(parts);
    if (this.#length > this.#limits.artifactLength) throw this.#exceeded("artifactLength");
  }

  #exceeded(limit: keyof Limits): LimitError {
    return new LimitError(limit, this.#limits[limit]);
  }
}

function lengthOf(parts: readonly A2APart[]): number {
  let length = 0;
  for (const part of parts) {
    length += part.kind === "text" ? part.text.length : JSON.stringify(part).length;
  }
  return length;
}
