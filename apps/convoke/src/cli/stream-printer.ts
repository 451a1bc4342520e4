import {
  type A2AArtifact,
  type ArtifactUpdateEvent,
  type PublicEvent,
  type Task,
  type TaskState,
  isFinal,
  isTerminal,
  textOfParts,
} from "@convoke/protocol";
import type { CommandIo } from "./command.ts";
import { type Colours, coloursFor } from "./colours.ts";
import { type Outcome, outcomeOf, wordsOf } from "./outcome.ts";
import { oneLine, printable } from "./printable.ts";
import { summarizeParts } from "./summarize-part.ts";

export interface StreamPrinterOptions {
  /** The task is not new: what it held before this turn was seen already. */
  readonly skipEarlier?: boolean;
  /** Also what was said before, for who was not there. */
  readonly showHistory?: boolean;
}

/** Shows a stream to a person: the text on stdout as it comes, everything about it on stderr. */
export class StreamPrinter {
  readonly #io: CommandIo;
  readonly #colours: Colours;
  readonly #skipEarlier: boolean;
  readonly #showHistory: boolean;
  /** The artifacts of which something is on the screen. */
  readonly #begun = new Set<string>();
  #lastArtifactId = "";
  #wroteText = false;
  /** Whether the line of text is unfinished, in the output and on the screen. */
  #openInOutput = false;
  #openOnScreen = false;

  constructor(io: CommandIo, { skipEarlier = false, showHistory = false }: StreamPrinterOptions) {
    this.#io = io;
    this.#skipEarlier = skipEarlier;
    this.#showHistory = showHistory;
    this.#colours = coloursFor(io, "stderr");
  }

  show(event: PublicEvent): void {
    switch (event.kind) {
      case "task":
        return this.#snapshot(event);
      case "artifact-update":
        return this.#artifact(event);
      case "message":
        return this.#text(textOfParts(event.parts));
      case "status-update": {
        const { state, message } = event.status;
        return this.#status(state, state, wordsOf(message));
      }
      default:
        return event satisfies never;
    }
  }

  /** A line about the stream, below the text that was written so far. */
  note(line: string): void {
    this.endLineOnScreen();
    this.#io.stderr(`${this.#colours.dim(oneLine(line))}\n`);
  }

  /** The task came to rest. An agent that made no artifact answers by its last words. */
  finish(outcome: Outcome | undefined): void {
    if (outcome?.state === "completed" && !this.#wroteText) this.#text(outcome.said);
    if (this.#openInOutput) this.#write("\n");
  }

  /** Nothing is added to stdout here: the text may go on in another run. */
  endLineOnScreen(): void {
    if (this.#openOnScreen && this.#io.isTTY.stdout && this.#io.isTTY.stderr) this.#io.stderr("\n");
    this.#openOnScreen = false;
  }

  #snapshot(task: Task): void {
    const { taskId, state, said } = outcomeOf(task);
    if (this.#showHistory) this.#history(task);
    this.#status(state, `task ${taskId} ${state}`, said);
    for (const artifact of task.artifacts ?? []) {
      if (this.#skipEarlier && !isTerminal(state)) this.#begun.add(artifact.artifactId);
      else if (!this.#begun.has(artifact.artifactId)) this.#content(artifact);
    }
  }

  /** Some agents keep what they say now also among what was said; once is enough. */
  #history({ history = [], status }: Task): void {
    for (const { messageId, role, parts } of history) {
      const text = textOfParts(parts);
      if (text === "" || messageId === status.message?.messageId) continue;
      this.note(`${role === "user" ? "you" : "agent"}: ${text}`);
    }
  }

  /** How it ends is for the report of the outcome; on the way there every status is news. */
  #status(state: TaskState, line: string, said: string): void {
    if (!isFinal(state)) this.note(said === "" ? line : `${line}: ${said}`);
  }

  #artifact({ artifact, append }: ArtifactUpdateEvent): void {
    const isAgain = append !== true && this.#begun.has(artifact.artifactId);
    if (isAgain && this.#openInOutput) this.#write("\n");
    if (isAgain) this.note("the agent begins this part of its answer again");
    this.#content(artifact);
  }

  #content(artifact: A2AArtifact): void {
    const text = textOfParts(artifact.parts);
    const isOther = artifact.artifactId !== this.#lastArtifactId;
    if (isOther && text !== "" && this.#openInOutput) this.#write("\n");
    if (text !== "") this.#lastArtifactId = artifact.artifactId;
    this.#begun.add(artifact.artifactId);
    this.#text(text);
    for (const line of summarizeParts(artifact)) this.note(line);
  }

  #text(text: string): void {
    if (text === "") return;
    this.#wroteText = true;
    this.#write(text);
  }

  #write(text: string): void {
    this.#io.stdout(this.#io.isTTY.stdout ? printable(text) : text);
    this.#openInOutput = !text.endsWith("\n");
    this.#openOnScreen = this.#openInOutput;
  }
}
