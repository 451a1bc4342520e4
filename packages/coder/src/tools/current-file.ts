import { sha256 } from "../storage/blobs.ts";
import type { SessionKey } from "../storage/session-key.ts";
import { entryAt, readContent } from "../workspace/files.ts";
import { type TextFile, decodeText } from "../workspace/text-file.ts";
import type { Place } from "../workspace/workspace.ts";
import { WorkspaceError } from "../workspace/workspace-error.ts";
import type { FileToolScope } from "./file-tool.ts";

/** A file that is about to change. */
export interface CurrentFile {
  readonly place: Place;
  /** Undefined if it does not exist. */
  readonly bytes: Buffer | undefined;
  /** Undefined if it does not exist, or is not text. */
  readonly text: TextFile | undefined;
}

export async function currentFile(scope: FileToolScope, path: string): Promise<CurrentFile> {
  const place = await scope.workspace.resolve(path);
  if (scope.workspace.isRoot(place)) throw new WorkspaceError(`${place.shown} is a folder`);
  const { type } = await entryAt(place);
  if (type === "missing") return { place, bytes: undefined, text: undefined };
  const { bytes } = await readContent(place, scope.maxFileBytes);
  return { place, bytes, text: decodeText(bytes) };
}

/**
 * Throws if the file is not as the conversation has last seen it: then a change would overwrite the
 * work of someone else.
 */
export async function checkUnchanged(
  { seen }: FileToolScope,
  session: SessionKey,
  { place, bytes }: CurrentFile,
  { mustBeSeen }: { readonly mustBeSeen: boolean },
): Promise<void> {
  const known = await seen.get(session, place.path);
  if (known === undefined) {
    if (bytes === undefined || !mustBeSeen) return;
    throw new WorkspaceError(
      `${place.shown} exists and has not been read in this conversation. Read it first.`,
    );
  }
  if (bytes === undefined) {
    await seen.set(session, place.path, undefined);
    throw new WorkspaceError(
      `${place.shown} was deleted since it was read in this conversation. Repeat the call if it should be created again.`,
    );
  }
  if (sha256(bytes) === known) return;
  throw new WorkspaceError(
    `${place.shown} has changed since it was read in this conversation. Read it again, then repeat the change if it is still right.`,
  );
}
