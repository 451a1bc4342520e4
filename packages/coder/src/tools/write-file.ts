import { Type } from "typebox";
import { sessionKey } from "../storage/session-key.ts";
import { writeContent } from "../workspace/files.ts";
import { PLAIN, type TextFormat, encodeText } from "../workspace/text-file.ts";
import { checkUnchanged, currentFile } from "./current-file.ts";
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
      const { place, bytes, text } = file;
      const isNew = bytes === undefined;
      const format = text?.format ?? PLAIN;
      const after = normalized(content, format);
      return {
        kind: "edit",
        paths: [place.path],
        title: `${isNew ? "Create" : "Replace"} ${place.shown}`,
        ...(isNew || text !== undefined
          ? { change: { path: place.shown, before: text?.text, after } }
          : { prompt: `${place.shown} is binary. It is replaced by ${after.length} characters.` }),
        file,
        after: encodeText(after, format),
      };
    },
    run: async (_input, { file, after }, { caller, contextId, taskId }) => {
      const session = sessionKey(caller, contextId);
      const { place, bytes: before } = file;
      await checkUnchanged(scope, session, file, { mustBeSeen: true });
      const label = `write_file ${place.shown}`;
      await scope.checkpoints.beforeChange([place.path], { label, session, taskId });
      await writeContent(place, after);
      await scope.seen.set(session, place.path, after);
      return `${before === undefined ? "Created" : "Replaced"} ${place.shown} (${after.length} bytes).`;
    },
  });

/** The content as the text of a file in this format, which models may or may not have kept. */
function normalized(content: string, { lineEnding, hasByteOrderMark }: TextFormat): string {
  const bare = hasByteOrderMark ? content.replace(/^\uFEFF/, "") : content;
  return lineEnding === "\r\n" ? bare.replaceAll("\r\n", "\n") : bare;
}
