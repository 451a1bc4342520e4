import { writeFileSync } from "node:fs";
import { basename, extname } from "node:path";
import { printable } from "@convoke/protocol/internal";
import { UsageError } from "../terminal/command.ts";

import type { RemoteAgent } from "@convoke/client";
import type { A2APart, DataPart, FilePart, Task } from "@convoke/protocol";
import { describeFile } from "../follow/stream-printer.ts";

/** A file or data part that can be saved. */
export interface ReceivedFile {
  /** The name that the agent gave it; not safe as a path. */
  readonly name: string;
  /** What it is, in one line. */
  readonly about: string;
  readonly part: FilePart | DataPart;
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
    return { name, about, part };
  }
  return { name: part.file.name ?? artifact, about, part };
}

const MOST_COPIES = 100;

/** What is needed to save a file: where it goes, and what fetches it if the agent sent only its address. */
export interface SaveOptions {
  readonly agent: Pick<RemoteAgent, "readFile" | "url">;
  /** Default: the name that the agent chose, in the current folder. */
  readonly path?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Writes a file and returns its path. Existing files are never overwritten. */
export async function saveFile(
  { name, part, about }: ReceivedFile,
  { agent, path, signal }: SaveOptions,
): Promise<string> {
  if (part.kind === "file" && isElsewhere(part, agent)) {
    throw new UsageError(
      `The agent sent only the address of that file; download it yourself: ${about}`,
    );
  }
  const bytes =
    part.kind === "data"
      ? Buffer.from(`${JSON.stringify(part.data, undefined, 2)}\n`)
      : await agent.readFile(part, { signal });
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

/** Whether the file is at an address of another server: only those of the agent itself are fetched. */
function isElsewhere({ file: { uri } }: FilePart, { url }: Pick<RemoteAgent, "url">): boolean {
  if (uri === undefined) return false;
  return !URL.canParse(uri) || !URL.canParse(url) || new URL(uri).origin !== new URL(url).origin;
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
