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
 * answer breaks off and is requested again, what is the same as before is not sent again. If the
 * model uses other words, the artifact begins again without the broken part.
 */
export class AnswerArtifact implements AnswerTarget {
  readonly artifactId: string;
  readonly #scope: LoopScope;
  /** The text of completed iterations. */
  #kept = "";
  /** The text of the current iteration. */
  #current = "";
  /** What was sent of an answer that broke off, until the next one has differed or come as far. */
  #broken: string | undefined;
  #isOpen = false;
  #mayBeStale = false;

  constructor(scope: LoopScope) {
    this.#scope = scope;
    this.artifactId = answerIdFor(scope);
  }

  add(text: string): void {
    if (text === "") return;
    const piece = this.#current === "" && this.#kept !== "" ? BETWEEN + text : text;
    this.#current += piece;
    if (this.#broken === undefined) this.#say(piece, this.#isOpen);
    else this.#compare(this.#broken);
  }

  breakOff(): void {
    this.#broken ??= this.#current === "" ? undefined : this.#current;
    this.#current = "";
  }

  mayBeStale(): void {
    this.#mayBeStale = true;
  }

  keep(): void {
    if (this.#broken !== undefined) this.#reopen();
    this.#kept += this.#current;
    this.#current = "";
  }

  /** Streams end an artifact with `lastChunk` (0.3 §7.2). */
  close(): void {
    if (!this.#isOpen && !this.#mayBeStale) return;
    const isBroken = this.#broken !== undefined || !this.#isOpen;
    const text = isBroken ? this.#kept : "";
    this.#scope.say({ ...this.#chunk(text, !isBroken), lastChunk: true });
  }

  #compare(broken: string): void {
    if (this.#current.startsWith(broken)) {
      this.#broken = undefined;
      const rest = this.#current.slice(broken.length);
      if (rest !== "") this.#say(rest, true);
    } else if (!broken.startsWith(this.#current)) this.#reopen();
  }

  #reopen(): void {
    this.#broken = undefined;
    this.#say(this.#kept + this.#current, false);
  }

  #say(text: string, append: boolean): void {
    this.#isOpen = true;
    this.#scope.say(this.#chunk(text, append));
  }

  #chunk(text: string, append: boolean): ArtifactUpdateEvent {
    const { id: taskId, contextId } = this.#scope.turn.task;
    const artifact = { artifactId: this.artifactId, parts: [textPart(text)] };
    return { kind: "artifact-update", taskId, contextId, artifact, append };
  }
}
