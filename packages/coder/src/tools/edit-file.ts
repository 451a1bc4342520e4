import { type Static, Type } from "typebox";
import { sessionKey } from "../storage/session-key.ts";
import { writeContent } from "../workspace/files.ts";
import { PLAIN, encodeText } from "../workspace/text-file.ts";
import { WorkspaceError } from "../workspace/workspace-error.ts";
import { checkUnchanged, currentFile } from "./current-file.ts";
import { type FileToolScope, fileTool } from "./file-tool.ts";

const Edit = Type.Object(
  {
    oldText: Type.String({
      description:
        "The exact text to replace, with its whitespace and without line numbers. It must occur " +
        "exactly once. Empty only to fill a file that is missing or empty.",
    }),
    newText: Type.String({ description: "The text to put in its place." }),
    replaceAll: Type.Optional(
      Type.Boolean({ description: "Replace every occurrence instead. Default false." }),
    ),
  },
  { additionalProperties: false },
);

const Input = Type.Object(
  {
    path: Type.String({ description: "The file, relative to the workspace or absolute." }),
    edits: Type.Array(Edit, {
      minItems: 1,
      description: "Applied in this order, each to the result of the one before; all or none.",
    }),
  },
  { additionalProperties: false },
);

export const editFile = (scope: FileToolScope) =>
  fileTool(scope, {
    name: "edit_file",
    description:
      "Replaces exact pieces of text in a file. All edits of a call are applied, or none. If the " +
      "file has changed since you read it, the call fails and you must read it again.",
    input: Input,
    plan: async ({ path, edits }) => {
      const file = await currentFile(scope, path);
      const { place, bytes, text } = file;
      if (bytes !== undefined && text === undefined) {
        throw new WorkspaceError(`${place.shown} is not a UTF-8 text file, so it cannot be edited`);
      }
      const before = text?.text;
      const after = applyEdits(place.shown, before, edits);
      return {
        kind: "edit",
        paths: [place.path],
        title: `Edit ${place.shown}`,
        change: { path: place.shown, before, after },
        file,
        after,
      };
    },
    run: async ({ edits }, { file, after }, { caller, contextId, taskId }) => {
      const session = sessionKey(caller, contextId);
      const { place, text } = file;
      await checkUnchanged(scope, session, file, { mustBeSeen: false });
      const bytes = encodeText(after, text?.format ?? PLAIN);
      const label = `edit_file ${place.shown}`;
      await scope.checkpoints.beforeChange([place.path], { label, session, taskId });
      await writeContent(place, bytes);
      await scope.seen.set(session, place.path, bytes);
      return `Edited ${place.shown}: ${edits.length === 1 ? "1 edit" : `${edits.length} edits`} applied.`;
    },
  });

function applyEdits(
  path: string,
  before: string | undefined,
  edits: readonly Static<typeof Edit>[],
): string {
  let text = before ?? "";
  edits.forEach((edit, index) => {
    text = applyEdit(text, edit, {
      name: `edits[${index}]`,
      path,
      isMissing: before === undefined,
    });
  });
  if (text === before) throw new WorkspaceError(`The edits change nothing in ${path}`);
  return text;
}

interface EditPlace {
  readonly name: string;
  readonly path: string;
  readonly isMissing: boolean;
}

function applyEdit(
  text: string,
  { oldText, newText, replaceAll = false }: Static<typeof Edit>,
  { name, path, isMissing }: EditPlace,
): string {
  // Line endings are those of the file, whichever the model writes.
  const asInFile = (part: string): string =>
    text.includes("\r") ? part : part.replaceAll("\r\n", "\n");
  const wanted = asInFile(oldText);
  if (wanted === "") {
    if (text === "") return asInFile(newText);
    throw new WorkspaceError(
      `${name}.oldText is empty, but ${path} is not. Give the text to replace.`,
    );
  }
  if (isMissing && text === "") throw new WorkspaceError(`${path} does not exist`);
  const count = text.split(wanted).length - 1;
  if (count === 0) throw new WorkspaceError(notFound(text, wanted, { name, path }));
  if (count > 1 && !replaceAll) {
    throw new WorkspaceError(
      `${name}.oldText occurs ${count} times in ${path}. Add lines around it until it is unique, or set replaceAll.`,
    );
  }
  return text.split(wanted).join(asInFile(newText));
}

function notFound(
  text: string,
  wanted: string,
  { name, path }: { readonly name: string; readonly path: string },
): string {
  const bare = (part: string): string => part.replace(/\s+/g, " ").trim();
  const isNear = bare(text).includes(bare(wanted));
  const hint = isNear ? " It occurs with other whitespace." : "";
  return `${name}.oldText does not occur in ${path}.${hint} Read the file and copy the text exactly.`;
}
