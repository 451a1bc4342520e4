import {
  type AgentEvent,
  type ArtifactUpdateEvent,
  type Turn,
  agentMessage,
  textPart,
} from "@convoke/protocol";
import type { Said, SaidArtifact } from "./said.ts";

/**
 * Turns what a function says into events. Text becomes chunks of one artifact,
 * the answer: the first opens it, the next are appended, and the end marks it
 * complete.
 */
export class AnswerEvents {
  readonly #turn: Turn;
  readonly #answerId: string;
  #isOpen = false;

  constructor(turn: Turn) {
    this.#turn = turn;
    // A later turn of the same task adds an answer of its own.
    this.#answerId = `answer-${(turn.task.artifacts?.length ?? 0) + 1}`;
  }

  /** A chunk of the answer. */
  chunk(text: string): AgentEvent {
    const append = this.#isOpen;
    this.#isOpen = true;
    return this.#artifactUpdate(
      { artifactId: this.#answerId, parts: [textPart(text)] },
      { append },
    );
  }

  said(said: Said): AgentEvent {
    switch (said.kind) {
      case "said:status":
        return this.#status("working", said.text);
      case "said:artifact":
        return this.#artifact(said);
      case "said:reply":
        return agentMessage(this.#turn.id(), said.text);
      case "said:end":
        return this.#status(said.state, said.text);
      default:
        return said satisfies never;
    }
  }

  /** The last chunk, if there was a first: streams end it with `lastChunk` (0.3 §7.2). */
  end(text = ""): readonly AgentEvent[] {
    if (!this.#isOpen && text === "") return [];
    const artifact = { artifactId: this.#answerId, parts: [textPart(text)] };
    return [this.#artifactUpdate(artifact, { append: this.#isOpen, lastChunk: true })];
  }

  #artifact({ name, part, description }: SaidArtifact): AgentEvent {
    const artifact = { artifactId: name, name, ...(description && { description }), parts: [part] };
    return this.#artifactUpdate(artifact, { append: false, lastChunk: true });
  }

  #artifactUpdate(
    artifact: ArtifactUpdateEvent["artifact"],
    flags: Pick<ArtifactUpdateEvent, "append" | "lastChunk">,
  ): AgentEvent {
    const { id: taskId, contextId } = this.#turn.task;
    return { kind: "artifact-update", taskId, contextId, artifact, ...flags };
  }

  #status(state: "working" | "rejected" | "failed", text: string): AgentEvent {
    const { id: taskId, contextId } = this.#turn.task;
    const message = agentMessage(this.#turn.id(), text);
    const final = state !== "working";
    return { kind: "status-update", taskId, contextId, status: { state, message }, final };
  }
}
