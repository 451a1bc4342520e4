import { type ArtifactUpdateEvent, textPart } from "@convoke/protocol";
import type { LoopScope } from "../run/loop-scope.ts";

/** Stands between what the model says before its tools run and what it says afterwards. */
const BETWEEN = "\n\n";

/**
 * The answer of a task: one artifact, to which every iteration adds what the
 * model says. When an answer breaks off and is asked for again, the artifact is
 * opened anew without the broken one.
 */
export class AnswerArtifact {
  readonly artifactId: string;
  readonly #scope: LoopScope;
  /** Of the iterations that are complete. */
  #kept = "";
  /** Of this one. */
  #current = "";
  #isOpen = false;
  #hasBroken = false;

  constructor(scope: LoopScope) {
    this.#scope = scope;
    // A later turn of the same task adds an answer of its own.
    this.artifactId = `answer-${(scope.turn.task.artifacts?.length ?? 0) + 1}`;
  }

  /** More of what the model says. */
  add(text: string): void {
    if (text === "") return;
    const piece = this.#current === "" && this.#kept !== "" ? BETWEEN + text : text;
    this.#current += piece;
    if (this.#hasBroken) this.#reopen();
    else this.#say({ artifactId: this.artifactId, parts: [textPart(piece)] }, this.#isOpen);
    this.#isOpen = true;
  }

  /** What was said in this iteration does not count. */
  breakOff(): void {
    this.#hasBroken ||= this.#current !== "";
    this.#current = "";
  }

  /** An earlier attempt may have said something in this iteration that this one does not repeat. */
  mayBeStale(): void {
    this.#hasBroken ||= !this.#isOpen;
  }

  /** The iteration is complete. */
  keep(): void {
    if (this.#hasBroken && this.#isOpen) this.#reopen();
    this.#kept += this.#current;
    this.#current = "";
  }

  /** Streams end an artifact with `lastChunk` (0.3 §7.2). */
  close(): void {
    if (!this.#isOpen && !this.#hasBroken) return;
    const text = this.#hasBroken ? this.#kept : "";
    const artifact = { artifactId: this.artifactId, parts: [textPart(text)] };
    this.#say(artifact, !this.#hasBroken, { lastChunk: true });
  }

  #reopen(): void {
    this.#hasBroken = false;
    const text = this.#kept + this.#current;
    this.#say({ artifactId: this.artifactId, parts: [textPart(text)] }, false);
  }

  #say(
    artifact: ArtifactUpdateEvent["artifact"],
    append: boolean,
    flags: Pick<ArtifactUpdateEvent, "lastChunk"> = {},
  ): void {
    const { id: taskId, contextId } = this.#scope.turn.task;
    this.#scope.say({ kind: "artifact-update", taskId, contextId, artifact, append, ...flags });
  }
}
