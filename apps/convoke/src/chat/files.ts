import { writeFileSync } from "node:fs";
import { basename, extname } from "node:path";
import { printable } from "@convoke/protocol/internal";
import { UsageError } from "../terminal/command.ts";

import type { A2APart, Task } from "@convoke/protocol";
import { describeFile } from "../follow/stream-printer.ts";

/** A file or data part that can be saved. */
export interface ReceivedFile {
  /** The name that the agent gave it; not safe as a path. */
  readonly name: string;
  /** What it is, in one line. */
  readonly about: string;
  /** Absent if the agent sent only an address. */
  readonly bytes?: Uint8Array;
}

/** The files of a conversation in order of arrival. Their numbers do not change. */
export class ReceivedFiles {
  readonly #files = new Map<string, ReceivedFile>();

  /** All files, number 1 first. */
  get all(): readonly ReceivedFile[] {
    return [...this.#files.values()];
  }

  /** Adds the files of a task. An updated artifact replaces its earlier version. */
  add({ id, artifacts = [] }: Task): void {
    for (const { artifactId, name = artifactId, parts } of artifacts) {
      for (const [place, part] of parts.entries()) {
        const file = fileOf(part, name);
        if (file !== undefined) this.#files.set(JSON.stringify([id, artifactId, place]), file);
      }
    }
  }
}

/** Text parts are not files: they were printed already. */
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
 * Writes a file to the given path, or to the current folder under the name that the agent chose,
 * and returns the path. Existing files are never overwritten.
 */
export function saveFile({ name, bytes, about }: ReceivedFile, path: string | undefined): string {
  if (bytes === undefined) {
    throw new UsageError(
      `The agent sent only the address of that file; download it yourself: ${about}`,
    );
  }
  if (path !== undefined) {
    if (write(path, bytes)) return path;
    throw new UsageError(`${path} already exists; choose another name.`);
  }
  const own = harmless(name);
  const ending = extname(own);
  const stem = own.slice(0, own.length - ending.length);
  for (let copy = 1; copy <= MOST_COPIES; copy++) {
    const candidate = copy === 1 ? own : `${stem}-${copy}${ending}`;
    if (write(candidate, bytes)) return candidate;
  }
  throw new UsageError(`${own} and ${MOST_COPIES} copies already exist; choose another name.`);
}

/** Removes folders and leading dots: an agent must not choose where files go, or create hidden ones. */
function harmless(name: string): string {
  const last = basename(printable(name).replaceAll(/[\\\n\t:*?"<>|]/g, "_")).replace(
    /^[.\s-]+/,
    "",
  );
  return last.slice(0, 200) || "file";
}

/** Returns false if the file already exists. */
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
