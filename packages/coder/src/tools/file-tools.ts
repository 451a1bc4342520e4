import type { Tool } from "@convoke/runtime";
import { join } from "node:path";
import type { Checkpoints } from "../checkpoints/checkpoints.ts";
import { InOrder } from "../workspace/in-order.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { deleteFile } from "./delete-file.ts";
import { editFile } from "./edit-file.ts";
import type { FilePolicy } from "./file-action.ts";
import { globFiles } from "./glob-files.ts";
import { listDirectory } from "./list-directory.ts";
import { moveFile } from "./move-file.ts";
import { readFile } from "./read-file.ts";
import { searchFiles } from "./search-tool.ts";
import { SeenFiles } from "./seen-files.ts";
import { writeFile } from "./write-file.ts";

export interface FileToolsOptions {
  readonly workspace: Workspace;
  /** Every change is recorded here first. */
  readonly checkpoints: Checkpoints;
  /** Decides which calls may run, need approval, or are denied. */
  readonly policy: FilePolicy;
  /**
   * Where the agent stores which files each conversation has seen; outside the workspace. It can be
   * the folder of the checkpoints.
   */
  readonly folder: string;
  /** Larger files are not read, changed or searched. Default 10 MiB. */
  readonly maxFileBytes?: number;
}

const MAX_FILE_BYTES = 10 * 1024 * 1024;

/**
 * Creates the file tools of one workspace: `list_directory`, `read_file`, `search_files`, `glob`,
 * `write_file`, `edit_file`, `move_file` and `delete_file`. None of them leaves the workspace.
 */
export function createFileTools(options: FileToolsOptions): readonly Tool[] {
  const { workspace, checkpoints, policy, folder, maxFileBytes = MAX_FILE_BYTES } = options;
  const seen = new SeenFiles(join(folder, "seen-files"));
  const scope = { workspace, checkpoints, policy, seen, maxFileBytes, order: new InOrder() };
  return [
    listDirectory(scope),
    readFile(scope),
    searchFiles(scope),
    globFiles(scope),
    writeFile(scope),
    editFile(scope),
    moveFile(scope),
    deleteFile(scope),
  ];
}
