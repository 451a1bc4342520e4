import {
  type ArtifactUpdateEvent,
  type Message,
  type PublicEvent,
  type Task,
  textOf,
  textOfParts,
} from "@convoke/protocol";

/** What to add to the text; `from` says that what was given from that character on does not count. */
export interface TextDelta {
  readonly text: string;
  readonly from?: number;
}

/**
 * The text of an answer as it grows, in the order of `textOf`: the deltas,
 * joined, are the text of the result. Words about the work are not part of it;
 * an agent that makes no artifact is quoted at the end.
 */
export class TextDeltas {
  #told = "";
  /** The artifact that was told last: more of it is simply added. */
  #open: string | undefined;
  readonly #known = new Set<string>();

  /** After an event, with what all events so far add up to. */
  after(event: PublicEvent, answer: Task | Message): TextDelta | undefined {
    if (event.kind === "status-update") return undefined;
    if (event.kind === "artifact-update") {
      const more = this.#more(event);
      if (more !== undefined) return this.#tell(this.#told + more, more);
    }
    return this.#become(answer.kind === "message" ? textOf(answer) : artifactText(answer), answer);
  }

  /** Everything that is still missing, once nothing more comes. */
  atEnd(answer: Task | Message): TextDelta | undefined {
    return this.#become(textOf(answer), answer);
  }

  /** What a chunk adds, where that can be told without looking at the rest. */
  #more({ artifact, append }: ArtifactUpdateEvent): string | undefined {
    const { artifactId, parts } = artifact;
    const text = textOfParts(parts);
    if (artifactId === this.#open && append === true) return text;
    if (this.#known.has(artifactId)) return undefined;
    this.#known.add(artifactId);
    if (text === "") return "";
    this.#open = artifactId;
    return this.#told === "" ? text : `\n${text}`;
  }

  #become(whole: string, answer: Task | Message): TextDelta | undefined {
    if (answer.kind === "task") this.#look(answer);
    if (whole.startsWith(this.#told)) return this.#tell(whole, whole.slice(this.#told.length));
    const from = commonLength(this.#told, whole);
    this.#told = whole;
    return { text: whole.slice(from), from };
  }

  #look({ artifacts = [] }: Task): void {
    this.#known.clear();
    for (const { artifactId } of artifacts) this.#known.add(artifactId);
    this.#open = artifacts.findLast(({ parts }) => textOfParts(parts) !== "")?.artifactId;
  }

  #tell(whole: string, text: string): TextDelta | undefined {
    this.#told = whole;
    return text === "" ? undefined : { text };
  }
}

/** Before the end only artifacts count: what the agent says meanwhile may be about its work. */
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
