import { type ToolEvent, fileArtifactId } from "@convoke/runtime";
import { basename } from "node:path";
import { Type } from "typebox";
import { sessionKey } from "../storage/session-key.ts";
import { readContent } from "../workspace/files.ts";
import { decodeText, viewableType } from "../workspace/text-file.ts";
import type { Place } from "../workspace/workspace.ts";
import { WorkspaceError } from "../workspace/workspace-error.ts";
import { type FileToolScope, fileTool } from "./file-tool.ts";
import { clipped, numbered } from "./output-limit.ts";

const DEFAULT_LINES = 2000;

/** The largest image or document that is passed on. */
const MAX_VIEWABLE = 5 * 1024 * 1024;

const Input = Type.Object(
  {
    path: Type.String({ description: "The file, relative to the workspace or absolute." }),
    offset: Type.Optional(
      Type.Integer({ minimum: 1, description: "The first line to read. Default 1." }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: `How many lines to read. Default ${DEFAULT_LINES}.`,
      }),
    ),
  },
  { additionalProperties: false },
);

export const readFile = (scope: FileToolScope) =>
  fileTool(scope, {
    name: "read_file",
    description:
      "Reads a text file, or a range of its lines. Each line of the result starts with its number " +
      "and a tab, which are not part of the file. Images and PDF documents are shown to you, if " +
      "you can see them, and to the user. Read a file before you change it.",
    input: Input,
    plan: async ({ path }) => {
      const place = await scope.workspace.resolve(path);
      return { kind: "read", paths: [place.path], title: `Read ${place.shown}`, place };
    },
    async *run({ offset = 1, limit = DEFAULT_LINES }, { place }, context) {
      const { bytes } = await readContent(place, scope.maxFileBytes);
      const mediaType = viewableType(bytes);
      if (mediaType !== undefined) {
        yield viewable(place, { bytes, mediaType });
        const artifactId = fileArtifactId(context.toolCallId, 1);
        return `[${place.shown}, ${mediaType}, was given to the user as artifact ${artifactId}]`;
      }
      const file = decodeText(bytes);
      if (file === undefined) {
        throw new WorkspaceError(`${place.shown} is a binary file of ${bytes.length} bytes`);
      }
      const { caller, contextId } = context;
      await scope.seen.set(sessionKey(caller, contextId), place.path, bytes);
      return range(file.text, offset, limit);
    },
  });

function range(text: string, offset: number, limit: number): string {
  if (text === "") return "[the file is empty]";
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  if (offset > lines.length) {
    throw new WorkspaceError(`offset: the file has only ${lines.length} lines`);
  }
  const wanted = lines.slice(offset - 1, offset - 1 + limit);
  const { text: shown, count } = clipped(
    wanted.map((line, index) => numbered(offset + index, line)),
  );
  const last = offset - 1 + count;
  if (last === lines.length) return shown;
  return `${shown}\n[lines ${offset} to ${last} of ${lines.length}; continue with offset ${last + 1}]`;
}

/** An image or a document as a part of the result. */
function viewable(
  place: Place,
  { bytes, mediaType }: { readonly bytes: Buffer; readonly mediaType: string },
): ToolEvent {
  if (bytes.length > MAX_VIEWABLE) {
    throw new WorkspaceError(
      `${place.shown} has ${bytes.length} bytes; files of type ${mediaType} may have ${MAX_VIEWABLE}`,
    );
  }
  const name = basename(place.path);
  const file = { name, mimeType: mediaType, bytes: bytes.toString("base64") };
  return { kind: "tool:file", file };
}
