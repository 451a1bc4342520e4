import { Type } from "typebox";
import { pathsIn } from "../search/search-files.ts";
import { sessionKey } from "../storage/session-key.ts";
import { entryAt, readContent, removeFile, removeTree } from "../workspace/files.ts";
import { decodeText } from "../workspace/text-file.ts";
import type { Place } from "../workspace/workspace.ts";
import { WorkspaceError } from "../workspace/workspace-error.ts";
import type { ContentChange } from "../workspace/content-change.ts";
import { type FileToolScope, fileTool } from "./file-tool.ts";

const Input = Type.Object(
  {
    path: Type.String({ description: "The file or folder to delete." }),
    recursive: Type.Optional(
      Type.Boolean({ description: "Required to delete a folder with all that is in it." }),
    ),
  },
  { additionalProperties: false },
);

export const deleteFile = (scope: FileToolScope) =>
  fileTool(scope, {
    name: "delete_file",
    description: "Deletes a file, a link (not what it leads to), or with recursive a folder.",
    input: Input,
    plan: async ({ path, recursive = false }) => {
      const place = await scope.workspace.resolve(path, { followLast: false });
      if (scope.workspace.isRoot(place))
        throw new WorkspaceError("The workspace cannot be deleted");
      const { type } = await entryAt(place);
      if (type === "missing") throw new WorkspaceError(`${place.shown} does not exist`);
      const isFolder = type === "folder";
      if (isFolder && !recursive) {
        throw new WorkspaceError(`${place.shown} is a folder; set recursive to delete all of it`);
      }
      const change = type === "file" ? await contentOf(place, scope.maxFileBytes) : undefined;
      return {
        kind: "delete",
        paths: [place.path, ...(isFolder ? await pathsIn(scope.workspace, place) : [])],
        title: `Delete ${place.shown}`,
        risk: isFolder ? "danger" : "warning",
        ...(change
          ? { change }
          : { prompt: isFolder ? "The folder and everything in it." : `It is a ${type}.` }),
        place,
        isFolder,
      };
    },
    run: async (_input, { place, isFolder }, { caller, contextId, taskId }) => {
      const session = sessionKey(caller, contextId);
      const label = `delete_file ${place.shown}`;
      await scope.checkpoints.beforeChange([place.path], { label, session, taskId });
      await (isFolder ? removeTree(place) : removeFile(place));
      await scope.seen.set(session, place.path, undefined);
      return `Deleted ${place.shown}.`;
    },
  });

/** The text that is lost; undefined if it is not text. */
async function contentOf(place: Place, maxBytes: number): Promise<ContentChange | undefined> {
  const { bytes } = await readContent(place, maxBytes);
  const file = decodeText(bytes);
  return file && { path: place.shown, before: file.text, after: undefined };
}
