import {
  type A2AArtifact,
  type A2APart,
  type ArtifactUpdateEvent,
  type PublicEvent,
  type Task,
  type TaskState,
  isFinal,
  isInterrupted,
  isTerminal,
  textOfParts,
} from "@convoke/protocol";
import { BEGINS_AGAIN } from "@convoke/client";
import { oneLine, printable, printableJson } from "@convoke/protocol/internal";
import type { CommandIo } from "../terminal/command.ts";
import { type Colours, coloursFor } from "../terminal/output.ts";
import { type Outcome, messageText, toOutcome } from "./outcome.ts";

export interface StreamPrinterOptions {
  /** Do not print artifacts that existed before this turn. */
  readonly skipEarlier?: boolean;
  /** Print the message history as well. */
  readonly showHistory?: boolean;
  /** For a chat: print only status messages and text, no states and no files. */
  readonly isQuiet?: boolean;
}

/**
 * Prints a stream: the text on stdout, everything else on stderr. On a terminal, and in a chat, text is
 * printed as it arrives. In a file or a pipe nothing can be taken back, and any agent may begin an
 * artifact again, so the text of an artifact is written when it is complete, or when the run ends.
 */
export class StreamPrinter {
  readonly #io: CommandIo;
  readonly #colours: Colours;
  readonly #showHistory: boolean;
  readonly #isQuiet: boolean;
  /** Whether the next task snapshot contains artifacts that were printed before. */
  #skipEarlier: boolean;
  /** The text of each artifact. */
  readonly #shown = new Map<string, string>();
  /** The text of artifacts that is not written yet, because they are not complete. */
  readonly #held = new Map<string, string>();
  /** Artifacts of which text was written. */
  readonly #written = new Set<string>();
  #lastArtifactId = "";
  #wroteText = false;
  /** Whether the current line is unfinished, on stdout and on the screen. */
  #openInOutput = false;
  #openOnScreen = false;

  constructor(io: CommandIo, options: StreamPrinterOptions) {
    const { skipEarlier = false, showHistory = false, isQuiet = false } = options;
    this.#io = io;
    this.#skipEarlier = skipEarlier;
    this.#showHistory = showHistory;
    this.#isQuiet = isQuiet;
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
        return this.#status(state, state, messageText(message));
      }
      default:
        return event satisfies never;
    }
  }

  /** Prints a remark below the text printed so far. */
  note(line: string): void {
    this.#endLineOnScreen();
    this.#io.stderr(`${this.#colours.dim(oneLine(line))}\n`);
  }

  /** The task is finished or interrupted. Without artifacts, the final status message is the answer. */
  finish(outcome: Outcome | undefined): void {
    this.#writeHeld();
    if (outcome?.state === "completed" && !this.#wroteText) this.#text(outcome.said);
    // On a screen a remark may already have ended the line, but not in a pipe.
    const isOpen = this.#io.isTTY.stdout ? this.#openOnScreen : this.#openInOutput;
    if (isOpen) this.#write("\n");
  }

  /** Prints what there is, before something else is printed. Another run may continue the text. */
  pause(): void {
    this.#writeHeld();
    this.#endLineOnScreen();
  }

  /** Ends the line on the screen only; stdout stays as it is. */
  #endLineOnScreen(): void {
    if (this.#openOnScreen && this.#io.isTTY.stdout && this.#io.isTTY.stderr) this.#io.stderr("\n");
    this.#openOnScreen = false;
  }

  #snapshot(task: Task): void {
    const { taskId, state, said } = toOutcome(task);
    if (this.#showHistory) this.#history(task);
    this.#status(state, `task ${taskId} ${state}`, said);
    const isSeen = this.#skipEarlier && !isTerminal(state);
    this.#skipEarlier = false;
    for (const artifact of task.artifacts ?? []) {
      const { artifactId } = artifact;
      const isNew = !this.#shown.has(artifactId);
      if (isSeen) this.#shown.set(artifactId, textOfParts(artifact.parts));
      else this.#whole(artifact);
      if (isNew && !isSeen) this.#summarize(artifact);
    }
  }

  /** Some agents include the current status message in the history; do not print it twice. */
  #history({ history = [], status }: Task): void {
    for (const { messageId, role, parts } of history) {
      const text = textOfParts(parts);
      if (text === "" || messageId === status.message?.messageId) continue;
      this.note(`${role === "user" ? "you" : "agent"}: ${text}`);
    }
  }

  /** Prints intermediate states. The final one is left to `reportOutcome`. */
  #status(state: TaskState, line: string, said: string): void {
    if (isFinal(state) || (this.#isQuiet && isInterrupted(state))) return;
    const head = this.#isQuiet ? "" : line;
    const note = [head, said].filter((words) => words !== "").join(": ");
    if (note !== "") this.note(note);
  }

  #artifact({ artifact, append, lastChunk }: ArtifactUpdateEvent): void {
    const { artifactId, parts } = artifact;
    if (append === true) {
      const text = textOfParts(parts);
      this.#shown.set(artifactId, `${this.#shown.get(artifactId) ?? ""}${text}`);
      this.#more(artifactId, text);
    } else this.#whole(artifact);
    this.#summarize(artifact);
    if (lastChunk === true) this.#writeHeld(artifactId);
  }

  /** An artifact came as a whole, for example after a reconnect: prints only what is new. */
  #whole({ artifactId, parts }: A2AArtifact): void {
    const shown = this.#shown.get(artifactId) ?? "";
    const text = textOfParts(parts);
    this.#shown.set(artifactId, text);
    if (text.startsWith(shown)) return this.#more(artifactId, text.slice(shown.length));
    this.#held.delete(artifactId);
    if (this.#written.has(artifactId)) {
      if (this.#openInOutput) this.#write("\n");
      this.note(BEGINS_AGAIN);
    }
    this.#more(artifactId, text);
  }

  #more(artifactId: string, text: string): void {
    if (text === "") return;
    if (this.#io.isTTY.stdout || this.#isQuiet) this.#continue(artifactId, text);
    else this.#held.set(artifactId, `${this.#held.get(artifactId) ?? ""}${text}`);
  }

  #writeHeld(only?: string): void {
    for (const [artifactId, text] of this.#held) {
      if (only !== undefined && artifactId !== only) continue;
      this.#held.delete(artifactId);
      this.#continue(artifactId, text);
    }
  }

  #continue(artifactId: string, text: string): void {
    if (artifactId !== this.#lastArtifactId && this.#openInOutput) this.#write("\n");
    this.#lastArtifactId = artifactId;
    this.#written.add(artifactId);
    this.#text(text);
  }

  #summarize(artifact: A2AArtifact): void {
    if (this.#isQuiet) return;
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

/** One line for each part of an artifact that is not text. */
export function summarizeParts({ name, artifactId, parts }: A2AArtifact): readonly string[] {
  return parts
    .filter((part) => part.kind !== "text")
    .map((part) => oneLine(`artifact ${name ?? artifactId}: ${describeFile(part)}`));
}

/** A short description of a part that is not text. */
export function describeFile(part: Exclude<A2APart, { kind: "text" }>): string {
  if (part.kind === "data") return `data ${printableJson(part.data)}`;
  const { name, mimeType, bytes, uri } = part.file;
  const size = bytes === undefined ? undefined : sizeOf(bytes);
  return ["file", name, mimeType, size, uri].filter((word) => word !== undefined).join(" ");
}

/** From the length of the base64, without decoding it. */
function sizeOf(base64: string): string {
  const bytes = Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
