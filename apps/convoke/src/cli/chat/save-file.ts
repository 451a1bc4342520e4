import { writeFileSync } from "node:fs";
import { basename, extname } from "node:path";
import { printable } from "@convoke/protocol/internal";
import { UsageError } from "../usage-error.ts";
import type { ReceivedFile } from "./received-files.ts";

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
