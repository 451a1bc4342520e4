import { Type } from "typebox";
import { type FileMatches, type LineQuery, lineExpression } from "../search/line-search.ts";
import { searchFiles as search } from "../search/search-files.ts";
import { type FileToolScope, fileTool } from "./file-tool.ts";
import { numbered } from "./output-limit.ts";

const DEFAULT_MATCHES = 100;

const MAX_MATCHES = 1000;

const Input = Type.Object(
  {
    pattern: Type.String({ minLength: 1, description: "A JavaScript regular expression." }),
    path: Type.Optional(
      Type.String({ description: "The folder or file to search. Default: the workspace." }),
    ),
    glob: Type.Optional(
      Type.String({ minLength: 1, description: "Only files that match, such as *.ts." }),
    ),
    literal: Type.Optional(
      Type.Boolean({ description: "Take the pattern as plain text. Default false." }),
    ),
    ignoreCase: Type.Optional(Type.Boolean({ description: "Default false." })),
    context: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 20,
        description: "How many lines to show before and after each match. Default 0.",
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_MATCHES,
        description: `The most matching lines. Default ${DEFAULT_MATCHES}.`,
      }),
    ),
  },
  { additionalProperties: false },
);

export const searchFiles = (scope: FileToolScope) =>
  fileTool(scope, {
    name: "search_files",
    description:
      "Searches the lines of files by a regular expression. Files that .gitignore and .ignore files " +
      "exclude and binary files are left out. Matching lines are shown as number:text, lines around " +
      "them as number-text, below the path of their file.",
    input: Input,
    plan: async (input) => {
      lineExpression(queryOf(input));
      const place = await scope.workspace.resolve(input.path ?? ".");
      return { kind: "read", paths: [place.path], title: `Search ${place.shown}`, place };
    },
    async *run(input, { place }, { signal, caller, contextId }) {
      const { glob, limit = DEFAULT_MATCHES } = input;
      const query = queryOf(input);
      const options = { query, glob, limit, maxFileBytes: scope.maxFileBytes, signal };
      let matches = 0;
      let hidden = 0;
      for await (const file of search(scope.workspace, place, options)) {
        // A file that may not be read may not be searched either.
        const paths = [file.path];
        const read = { tool: "search_files", kind: "read", paths, caller, contextId } as const;
        if ((await scope.policy(read)) !== "allow") {
          hidden += 1;
          continue;
        }
        matches += file.lines.filter(({ isMatch }) => isMatch).length;
        yield describe(scope.workspace.show(file.path), file);
      }
      if (matches >= limit) yield `[the first ${limit} matches; there may be more]\n`;
      if (hidden > 0) yield `[${hidden} files with matches may not be read without approval]\n`;
      return matches === 0 && hidden === 0 ? "[no match]" : undefined;
    },
  });

function queryOf(input: {
  readonly pattern: string;
  readonly literal?: boolean;
  readonly ignoreCase?: boolean;
  readonly context?: number;
}): LineQuery {
  const { pattern, literal: isLiteral = false, ignoreCase = false, context = 0 } = input;
  return { pattern, isLiteral, ignoreCase, context };
}

function describe(path: string, { lines }: FileMatches): string {
  const shown = lines.map(({ number, text, isMatch }) =>
    numbered(number, text, isMatch ? ":" : "-"),
  );
  return `${path}\n${shown.join("\n")}\n\n`;
}
