import { Type } from "typebox";
import { type Entry, entriesIn } from "../workspace/files.ts";
import { type FileToolScope, fileTool } from "./file-tool.ts";
import { clipped } from "./output-limit.ts";

const MAX_ENTRIES = 2000;

const Input = Type.Object(
  {
    path: Type.Optional(Type.String({ description: "The folder. Default: the workspace itself." })),
  },
  { additionalProperties: false },
);

export const listDirectory = (scope: FileToolScope) =>
  fileTool(scope, {
    name: "list_directory",
    description:
      "Lists what is in a folder, without what is in its folders: folders end with /, links show " +
      "where they lead, files show their size. Hidden and ignored files are included.",
    input: Input,
    plan: async ({ path = "." }) => {
      const place = await scope.workspace.resolve(path);
      return { kind: "read", paths: [place.path], title: `List ${place.shown}`, place };
    },
    run: async (_input, { place }) => {
      const { entries, total } = await entriesIn(place, MAX_ENTRIES);
      if (total === 0) return "[the folder is empty]";
      const { text, count } = clipped(entries.map(({ name, entry }) => describe(name, entry)));
      return count === total ? text : `${text}\n[${total - count} more entries]`;
    },
  });

function describe(name: string, entry: Entry): string {
  switch (entry.type) {
    case "folder":
      return `${name}/`;
    case "link":
      return `${name} -> ${entry.target}`;
    case "file":
      return `${name} (${entry.stats.size} bytes)`;
    case "missing":
    case "other":
      return `${name} (not a file)`;
  }
}
