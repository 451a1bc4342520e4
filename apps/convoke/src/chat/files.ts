import { writeFileSync } from "node:fs";
import { basename, extname } from "node:path";
import { printable } from "@convoke/protocol/internal";
import { UsageError } from "../terminal/command.ts";

import type { A2APart, Task } from "@convoke/protocol";
import { describeFile } from "../follow/stream-printer.ts";

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

const MOST_COPIES = 100;

/**
 * Writes a file where the person says, or else into this folder by the agent's
 * name for it, and gives the path. Nothing that exists is written over.
 */
export function saveFile({ name, bytes, about }: ReceivedFile, path: string | undefined): string {
  if (bytes === undefined) {
    throw new UsageError(`That file was not sent, only named; fetch it yourself: ${about}`);
  }
  if (path !== undefined) {
    if (write(path, bytes)) return path;
    throw new UsageError(`${path} exists already; choose another name.`);
  }
  const own = harmless(name);
  const ending = extname(own);
  const stem = own.slice(0, own.length - ending.length);
  for (let copy = 1; copy <= MOST_COPIES; copy++) {
    const candidate = copy === 1 ? own : `${stem}-${copy}${ending}`;
    if (write(candidate, bytes)) return candidate;
  }
  throw new UsageError(`${own} exists ${MOST_COPIES} times already; choose another name.`);
}

/** An agent must not choose a folder, nor a file that programs read by themselves. */
function harmless(name: string): string {
  const last = basename(printable(name).replaceAll(/[\\\n\t:*?"<>|]/g, "_")).replace(
    /^[.\s-]+/,
    "",
  );
  return last.slice(0, 200) || "file";
}

/** False when there is something already. */
function write(path: string, bytes: Uint8Array): boolean {
  try {
    writeFileSync(path, bytes, { flag: "wx" });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return false;
    throw new UsageError(`${path} cannot be written (${code}).`);
  }
}
