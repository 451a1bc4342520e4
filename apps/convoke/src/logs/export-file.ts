import { closeSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { isObject, jsonOrText } from "@convoke/protocol/internal";
import { UsageError } from "../terminal/command.ts";

/** Where an export is written. */
export interface ExportFile {
  readonly write: (text: string) => void;
  /** The last position of each task in an earlier export, by id. */
  readonly positions?: ReadonlyMap<string, number>;
  readonly close?: () => void;
}

/**
 * Opens a file for an export. A file that is there is not replaced, unless the export in it is
 * continued: then an incomplete last line is cut off.
 */
export function openExportFile(path: string, isResumed: boolean): ExportFile {
  const file = open(path, isResumed ? "r+" : "wx");
  const { positions, length } = isResumed ? readLines(file) : { positions: undefined, length: 0 };
  if (isResumed) ftruncateSync(file, length);
  let place = length;
  return {
    write: (text) => {
      const bytes = Buffer.from(text);
      for (let written = 0; written < bytes.length;) {
        const count = writeSync(file, bytes, written, bytes.length - written, place);
        written += count;
        place += count;
      }
    },
    ...(positions && { positions }),
    close: () => closeSync(file),
  };
}

function open(path: string, flags: string): number {
  try {
    return openSync(path, flags, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") {
      throw new UsageError(
        `--out ${path} exists; continue it with --resume, or name another file.`,
      );
    }
    throw new UsageError(`--out ${path} cannot be written (${code}).`);
  }
}

const CHUNK = 1024 * 1024;

const LINE_BREAK = 0x0a;

/** The positions in a file, which is read in chunks, and the length of its complete lines. */
function readLines(file: number) {
  const positions = new Map<string, number>();
  let length = 0;
  let rest: Uint8Array = new Uint8Array();
  const chunk = Buffer.alloc(CHUNK);
  for (let read = 1, place = 0; read > 0; place += read) {
    read = readSync(file, chunk, 0, CHUNK, place);
    let bytes = Buffer.concat([rest, chunk.subarray(0, read)]);
    for (let end = bytes.indexOf(LINE_BREAK); end !== -1; end = bytes.indexOf(LINE_BREAK)) {
      const line = jsonOrText(bytes.subarray(0, end).toString());
      bytes = bytes.subarray(end + 1);
      length += end + 1;
      const { task, taskId, seq } = isObject(line) ? line : {};
      const id = isObject(task) ? task["id"] : taskId;
      if (typeof id !== "string") throw new UsageError("--out is not an export in jsonl.");
      positions.set(id, typeof seq === "number" ? seq : (positions.get(id) ?? 0));
    }
    rest = bytes;
  }
  return { positions, length };
}
