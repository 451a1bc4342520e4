import {
  type ArtifactUpdateEvent,
  type Message,
  type PublicEvent,
  type Task,
  textOf,
  textOfParts,
} from "@convoke/protocol";

/** Text to append. With `from`, everything from that character on is replaced first. */
export interface TextDelta {
  readonly text: string;
  readonly from?: number;
}

/**
 * The text of an answer as it grows, in the order of `textOf`: joined, the deltas are the text of the
 * result. Status messages are not part of it, except at the end for an agent without artifacts.
 */
export class TextDeltas {
  #text = "";
  /** The artifact at the end of the text, to which chunks can be appended. */
  #open: string | undefined;
  readonly #known = new Set<string>();

  /** The delta after an event; `answer` is the result of all events so far. */
  after(event: PublicEvent, answer: Task | Message): TextDelta | undefined {
    if (event.kind === "status-update") return undefined;
    if (event.kind === "artifact-update") {
      const more = this.#appendable(event);
      if (more !== undefined) return this.#append(this.#text + more, more);
    }
    return this.#replaceWith(
      answer.kind === "message" ? textOf(answer) : artifactText(answer),
      answer,
    );
  }

  /** What is still missing, after the last event. */
  atEnd(answer: Task | Message): TextDelta | undefined {
    return this.#replaceWith(textOf(answer), answer);
  }

  /** What a chunk appends; `undefined` if the whole text has to be compared. */
  #appendable({ artifact, append }: ArtifactUpdateEvent): string | undefined {
    const { artifactId, parts } = artifact;
    const text = textOfParts(parts);
    if (artifactId === this.#open && append === true) return text;
    if (this.#known.has(artifactId)) return undefined;
    this.#known.add(artifactId);
    if (text === "") return "";
    this.#open = artifactId;
    return this.#text === "" ? text : `\n${text}`;
  }

  #replaceWith(whole: string, answer: Task | Message): TextDelta | undefined {
    if (answer.kind === "task") this.#rememberArtifacts(answer);
    if (whole.startsWith(this.#text)) return this.#append(whole, whole.slice(this.#text.length));
    const from = commonLength(this.#text, whole);
    this.#text = whole;
    return { text: whole.slice(from), from };
  }

  #rememberArtifacts({ artifacts = [] }: Task): void {
    this.#known.clear();
    for (const { artifactId } of artifacts) this.#known.add(artifactId);
    this.#open = artifacts.findLast(({ parts }) => textOfParts(parts) !== "")?.artifactId;
  }

  #append(whole: string, text: string): TextDelta | undefined {
    this.#text = whole;
    return text === "" ? undefined : { text };
  }
}

/** Before the end only artifacts count: status messages may be about the work in progress. */
function artifactText({ artifacts = [] }: Task): string {
  return artifacts
    .map(({ parts }) => textOfParts(parts))
    .filter((text) => text !== "")
    .join("\n");
}

function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}
