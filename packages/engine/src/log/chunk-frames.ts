import { type ArtifactUpdateEvent, CODECS, type TextPart, textPart } from "@convoke/protocol";

/** A chunk with nothing but its text. */
export interface PlainChunk extends ArtifactUpdateEvent {
  readonly append: boolean;
  readonly artifact: { readonly artifactId: string; readonly parts: readonly [TextPart] };
}

/** The text of an event before and after the one thing that changes. */
type Frame = readonly [before: string, after: string];

/** What stands around the text of one artifact's chunks, in each form. */
export class ChunkFrames {
  readonly #artifactId: string;
  readonly #append: boolean;
  readonly #model: Frame;
  readonly #v1: Frame;

  constructor(chunk: PlainChunk) {
    const { artifact, append } = chunk;
    const empty = { ...chunk, artifact: { ...artifact, parts: [textPart("")] } };
    const json = JSON.stringify(empty);
    this.#artifactId = artifact.artifactId;
    this.#append = append;
    this.#model = split(json);
    this.#v1 = split(CODECS["1.0"].eventText(empty, json));
  }

  fits({ artifact, append }: PlainChunk): boolean {
    return this.#artifactId === artifact.artifactId && this.#append === append;
  }

  /** The chunk's JSON in the model, the same bytes that serialising it gives. */
  model(text: string): string {
    return this.#model[0] + JSON.stringify(text) + this.#model[1];
  }

  /** The same chunk in the words of 1.0. */
  v1(model: string): string {
    const [before, after] = this.#model;
    return this.#v1[0] + model.slice(before.length, model.length - after.length) + this.#v1[1];
  }
}

/** Cuts at the empty text. Inside other strings the quotes would be escaped, so there is one such place. */
function split(json: string): Frame {
  const mark = '"text":""';
  const place = json.indexOf(mark) + mark.length - 2;
  return [json.slice(0, place), json.slice(place + 2)];
}
