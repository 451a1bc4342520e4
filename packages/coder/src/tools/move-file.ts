import { dirname, join, relative } from "node:path";
import { Type } from "typebox";
import { pathsIn } from "../search/search-files.ts";
import { sessionKey } from "../storage/session-key.ts";
import { entryAt, moveEntry } from "../workspace/files.ts";
import { WorkspaceError } from "../workspace/workspace-error.ts";
import { type FileToolScope, fileTool } from "./file-tool.ts";

const Input = Type.Object(
  {
    from: Type.String({ description: "The file or folder to move." }),
    to: Type.String({ description: "Its new path. Nothing may be there yet." }),
  },
  { additionalProperties: false },
);

export const moveFile = (scope: FileToolScope) =>
  fileTool(scope, {
    name: "move_file",
    description:
      "Moves or renames a file, a link or a folder. Missing folders above the new path are created. " +
      "It never overwrites.",
    input: Input,
    plan: async (input) => {
      const from = await scope.workspace.resolve(input.from, { followLast: false });
      const to = await scope.workspace.resolve(input.to, { followLast: false });
      if (scope.workspace.isRoot(from)) throw new WorkspaceError("The workspace cannot be moved");
      const { type } = await entryAt(from);
      if (type === "missing") throw new WorkspaceError(`${from.shown} does not exist`);
      if (scope.workspace.isRoot(to) || (await entryAt(to)).type !== "missing") {
        throw new WorkspaceError(`${to.shown} exists already`);
      }
      if (`${dirname(to.path)}/`.startsWith(`${from.path}/`)) {
        throw new WorkspaceError(`${from.shown} cannot be moved into itself`);
      }
      const inner = type === "folder" ? await pathsIn(scope.workspace, from) : [];
      const moved = [from.path, ...inner];
      const targets = moved.map((path) => join(to.path, relative(from.path, path)));
      return {
        kind: "move",
        paths: [...moved, ...targets],
        title: `Move ${from.shown}`,
        prompt: `${from.shown} → ${to.shown}`,
        from,
        to,
        targets,
      };
    },
    run: async (_input, { from, to, targets }, { caller, contextId, taskId }) => {
      const session = sessionKey(caller, contextId);
      const label = `move_file ${from.shown} ${to.shown}`;
      await scope.checkpoints.beforeChange([from.path, ...targets], { label, session, taskId });
      await moveEntry(from, to);
      await scope.seen.set(session, from.path, undefined);
      return `Moved ${from.shown} to ${to.shown}.`;
    },
  });
