import { appendFileSync, existsSync, readFileSync } from "node:fs";

/** Something that an agent of a tree did. */
export interface Note {
  readonly what: "model" | "stopped" | "tool";
  /** The id of the work that a model was asked to do. */
  readonly work?: string;
  /** Which tool ran, in which call of which task, and what it ran for. */
  readonly name?: string;
  readonly taskId?: string;
  readonly toolCallId?: string;
  readonly key?: string;
  readonly input?: unknown;
}

/** What an agent did in all its processes, in a file, because a killed process cannot report it. */
export class Notes {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** One write, so that a kill leaves the complete line or nothing. */
  add(note: Note): void {
    appendFileSync(this.#file, `${JSON.stringify(note)}\n`);
  }

  all(): readonly Note[] {
    if (!existsSync(this.#file)) return [];
    const lines = readFileSync(this.#file, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Note);
  }
}
