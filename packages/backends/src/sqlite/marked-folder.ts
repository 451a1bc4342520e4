import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TransferMark, readMark, whyMarked } from "../storage/transfer-mark.ts";
import { DataFolderError } from "./data-folder.ts";

/** Says that the data of a folder is moved elsewhere, or is not complete yet. */
const MARK_FILE = "transfer.json";

export function readFolderMark(folder: string): TransferMark | undefined {
  let json: string;
  try {
    json = readFileSync(join(folder, MARK_FILE), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  return readMark(json);
}

/** The folder must be locked. Written and renamed, so that it is never incomplete. */
export function writeFolderMark(folder: string, mark: TransferMark | undefined): void {
  const file = join(folder, MARK_FILE);
  if (mark === undefined) return rmSync(file, { force: true });
  writeFileSync(`${file}.new`, JSON.stringify(mark), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Throws if a server must not use the folder. */
export function refuseMarked(folder: string): void {
  const mark = readFolderMark(folder);
  if (mark !== undefined) throw new DataFolderError(folder, whyFolderMarked(mark));
}

/** To follow the name of the folder. */
export function whyFolderMarked(mark: TransferMark): string {
  return `${whyMarked(mark, { remove: "delete the folder", unmark: `delete its ${MARK_FILE}` })}.`;
}
