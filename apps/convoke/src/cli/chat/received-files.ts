import type { A2APart, Task } from "@convoke/protocol";
import { describeFile } from "../summarize-part.ts";

/** Something of an answer that can be kept. */
export interface ReceivedFile {
  /** As the agent calls it; it may be anything. */
  readonly name: string;
  /** What it is, in one line. */
  readonly about: string;
  /** None for what the agent only names by its address. */
  readonly bytes?: Uint8Array;
}

/** The files of a conversation, in the order they came in. Their numbers do not change. */
export class ReceivedFiles {
  readonly #files = new Map<string, ReceivedFile>();

  /** Everything, with number 1 first. */
  get all(): readonly ReceivedFile[] {
    return [...this.#files.values()];
  }

  /** Takes what a task has; an artifact that came again replaces what it was. */
  add({ id, artifacts = [] }: Task): void {
    for (const { artifactId, name = artifactId, parts } of artifacts) {
      for (const [place, part] of parts.entries()) {
        const file = fileOf(part, name);
        if (file !== undefined) this.#files.set(JSON.stringify([id, artifactId, place]), file);
      }
    }
  }
}

/** Text was on the screen already. */
function fileOf(part: A2APart, artifact: string): ReceivedFile | undefined {
  if (part.kind === "text") return undefined;
  const about = describeFile(part);
  if (part.kind === "data") {
    const name = part.filename ?? (artifact.endsWith(".json") ? artifact : `${artifact}.json`);
    return { name, about, bytes: Buffer.from(`${JSON.stringify(part.data, undefined, 2)}\n`) };
  }
  const { name = artifact, bytes } = part.file;
  return { name, about, ...(bytes !== undefined && { bytes: Buffer.from(bytes, "base64") }) };
}
