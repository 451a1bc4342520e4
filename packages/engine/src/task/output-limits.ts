import type {
  A2APart,
  AgentEvent,
  ArtifactUpdateEvent,
  StatusUpdateEvent,
  Task,
} from "@convoke/protocol";
import type { Seq } from "../log/backend.ts";
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

  /** Counts events that are about to be written, up to the first that may not be. */
  firstBeyond(
    events: readonly AgentEvent[],
  ): { readonly place: number; readonly error: LimitError } | undefined {
    for (let place = 0; place < events.length; place++) {
      const limit = this.#count(events[place]!);
      if (limit !== undefined) return { place, error: new LimitError(limit, this.#limits[limit]) };
    }
    return undefined;
  }

  /** The limit that is exceeded with this event. */
  #count(event: AgentEvent): keyof Limits | undefined {
    if (++this.#events > this.#limits.events) return "events";
    if (event.kind === "artifact-update") return this.#countArtifact(event as ArtifactUpdateEvent);
    if (event.kind !== "status-update") return undefined;
    // The message of a status moves to the history when the next one comes.
    const isSaid = (event as StatusUpdateEvent).status.message !== undefined;
    return isSaid && ++this.#history > this.#limits.history ? "history" : undefined;
  }

  #countArtifact({ artifact }: ArtifactUpdateEvent): keyof Limits | undefined {
    const { artifactId, parts } = artifact;
    if (artifactId !== this.#lastArtifact) {
      this.#artifacts.add(artifactId);
      this.#lastArtifact = artifactId;
      if (this.#artifacts.size > this.#limits.artifacts) return "artifacts";
    }
    this.#length += lengthOf(parts);
    return this.#length > this.#limits.artifactLength ? "artifactLength" : undefined;
  }
}

function lengthOf(parts: readonly A2APart[]): number {
  let length = 0;
  for (const part of parts) {
    length += part.kind === "text" ? part.text.length : JSON.stringify(part).length;
  }
  return length;
}
