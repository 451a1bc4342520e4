import { Type } from "typebox";
import { writeContent } from "../workspace/files.ts";
import { PLAIN, encodeText } from "../workspace/text-file.ts";
import { type CurrentFile, checkUnchanged, currentFile } from "./current-file.ts";
import { type FileToolScope, fileTool } from "./file-tool.ts";

const Input = Type.Object(
  {
    path: Type.String({ description: "The file, relative to the workspace or absolute." }),
    content: Type.String({ description: "The whole new content of the file." }),
  },
  { additionalProperties: false },
);

export const writeFile = (scope: FileToolScope) =>
  fileTool(scope, {
    name: "write_file",
    description:
      "Creates a file, with the folders above it, or replaces the whole content of one. A file that " +
      "exists must have been read first. To change a part of a file, use edit_file.",
    input: Input,
    plan: async ({ path, content }) => {
      const file = await currentFile(scope, path);
      const { place, text } = file;
      return {
        kind: file.bytes === undefined ? "create" : "edit",
        paths: [place.path],
        title: `${file.bytes === undefined ? "Create" : "Replace"} ${place.shown}`,
        ...(isText(file) && {
          change: { path: place.shown, before: text?.text, after: content },
        }),
        file,
      };
    },
    run: async ({ content }, { file }, { contextId, taskId }) => {
      const { place, bytes: before, text } = file;
      await checkUnchanged(scope, contextId, file, { mustBeSeen: true });
      const after = encodeText(content, text?.format ?? PLAIN);
      const label = `write_file ${place.shown}`;
      await scope.checkpoints.beforeChange([place.path], { label, contextId, taskId });
      await writeContent(place, after);
      await scope.seen.set(contextId, place.path, after);
      return `${before === undefined ? "Created" : "Replaced"} ${place.shown} (${after.length} bytes).`;
    },
  });

/** A missing file counts as an empty text. */
function isText({ bytes, text }: CurrentFile): boolean {
  return bytes === undefined || text !== undefined;
}
