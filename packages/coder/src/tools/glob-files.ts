import { Type } from "typebox";
import { listFiles } from "../search/search-files.ts";
import { globFilter } from "../workspace/glob.ts";
import { type FileToolScope, fileTool } from "./file-tool.ts";
import { clipped } from "./output-limit.ts";

const MAX_PATHS = 1000;

const Input = Type.Object(
  {
    pattern: Type.String({
      minLength: 1,
      description:
        "Such as **/*.ts, src/**/*.{js,ts} or *.md. A pattern without / matches in all folders.",
    }),
    path: Type.Optional(
      Type.String({ description: "The folder to look in. Default: the whole workspace." }),
    ),
    includeIgnored: Type.Optional(
      Type.Boolean({
        description: "Include files that .gitignore and .ignore files exclude. Default false.",
      }),
    ),
  },
  { additionalProperties: false },
);

export const globFiles = (scope: FileToolScope) =>
  fileTool(scope, {
    name: "glob",
    description: `Finds files by the pattern of their path, up to ${MAX_PATHS}, sorted by path.`,
    input: Input,
    plan: async ({ pattern, path = "." }) => {
      globFilter(pattern);
      const place = await scope.workspace.resolve(path);
      return { kind: "read", paths: [place.path], title: `Find ${pattern}`, place };
    },
    run: async ({ pattern, includeIgnored = false }, { place }, { signal }) => {
      const paths: string[] = [];
      const leaveOut = includeIgnored ? ".git" : "ignored";
      const options = { leaveOut, glob: pattern, signal } as const;
      for await (const batch of listFiles(scope.workspace, place, options)) {
        paths.push(...batch.map((entry) => scope.workspace.show(entry.path)));
        if (paths.length > MAX_PATHS) break;
      }
      if (paths.length === 0) return "[no file matches]";
      const { text, count } = clipped(paths.slice(0, MAX_PATHS));
      return count === paths.length ? text : `${text}\n[there are more; use a narrower pattern]`;
    },
  });
