import { type ArtifactUpdateEvent, textPart } from "@convoke/protocol";
import type { LoopScope } from "../run/loop-scope.ts";

/** Separates what the model says before its tools run from what it says afterwards. */
const BETWEEN = "\n\n";

/** Receives the text of the model's answers. */
export interface AnswerTarget {
  readonly artifactId: string;
  /** Appends text of the model. */
  add(text: string): void;
  /** Discards the text of the current iteration. */
  breakOff(): void;
  /**
   * Called if an earlier attempt may have streamed text in this iteration that this one does not
   * repeat.
   */
  mayBeStale(): void;
  /** Completes the iteration and keeps its text. */
  keep(): void;
  /** Ends the artifact. */
  close(): void;
}

/** The id of the answer of a turn. A later turn of the same task adds its own answer. */
export function answerIdFor({ turn }: LoopScope): string {
  return `answer-${(turn.task.artifacts?.length ?? 0) + 1}`;
}

/**
 * The answer of a task: one artifact, to which every iteration appends the model's text. If an
 * answer breaks off and is requested again, the artifact is sent again without the broken part.
 */
export class AnswerArtifact implements AnswerTarget {
  readonly artifactId: string;
  readonly #scope: LoopScope;
  /** The text of completed iterations. */
  #kept = "";
  /** The text of the current iteration. */
  #current = "";
  #isOpen = false;
  #hasBroken = false;

  constructor(scope: LoopScope) {
    this.#scope = scope;
    this.artifactId = answerIdFor(scope);
  }

  add(text: string): void {
    if (text === "") return;
    const piece = this.#current === "" && this.#kept !== "" ? BETWEEN + text : text;
    this.#current += piece;
    if (this.#hasBroken) this.#reopen();
    else this.#say(piece, this.#isOpen);
    this.#isOpen = true;
  }

  breakOff(): void {
    this.#hasBroken ||= this.#current !== "";
    this.#current = "";
  }

  mayBeStale(): void {
    this.#hasBroken ||= !this.#isOpen;
  }

  keep(): void {
    if (this.#hasBroken && this.#isOpen) this.#reopen();
    this.#kept += this.#current;
    this.#current = "";
  }

  /** Streams end an artifact with `lastChunk` (0.3 §7.2). */
  close(): void {
    if (!this.#isOpen && !this.#hasBroken) return;
    const text = this.#hasBroken ? this.#kept : "";
    this.#scope.say({ ...this.#chunk(text, !this.#hasBroken), lastChunk: true });
  }

  #reopen(): void {
    this.#hasBroken = false;
    const text = this.#kept + this.#current;
    this.#say(text, false);
  }

  #say(text: string, append: boolean): void {
    this.#scope.say(this.#chunk(text, append));
  }

  #chunk(text: string, append: boolean): ArtifactUpdateEvent {
    const { id: taskId, contextId } = this.#scope.turn.task;
    const artifact = { artifactId: this.artifactId, parts: [textPart(text)] };
    return { kind: "artifact-update", taskId, contextId, artifact, append };
  }
}
