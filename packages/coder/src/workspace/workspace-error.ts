/** A problem with a path or a file that the model can fix; its text is written for the model. */
export class WorkspaceError extends Error {
  override readonly name = "WorkspaceError";
}

/** The code of a file system error, such as `ENOENT`; undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : undefined;
}

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  ENOTDIR: "is not a folder, or is below a file",
  EISDIR: "is a folder",
  EACCES: "cannot be accessed: permission denied",
  EPERM: "cannot be changed: permission denied",
  EROFS: "cannot be changed: the file system is read-only",
  ENOSPC: "cannot be written: the disk is full",
  EDQUOT: "cannot be written: the disk quota is used up",
  ENAMETOOLONG: "is too long for a path",
  ELOOP: "is a link, or a chain of links, that cannot be followed here",
  EEXIST: "exists already",
  ENOTEMPTY: "is a folder that is not empty",
  EXDEV: "cannot be moved to another file system",
  ENXIO: "is not a regular file",
};

/**
 * Replaces an expected file system error by one that names the path as the model knows it. Other
 * errors are returned as they are, so that the operator's log has them.
 */
export function describeFailure(error: unknown, shown: string): unknown {
  if (error instanceof WorkspaceError) return error;
  const problem = PROBLEMS[errorCode(error) ?? ""];
  if (problem === undefined) return error;
  return new WorkspaceError(`${shown} ${problem}`, { cause: error });
}
