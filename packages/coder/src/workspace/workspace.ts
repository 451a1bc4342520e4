import { lstat, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { WorkspaceError, describeFailure, errorCode } from "./workspace-error.ts";

export interface WorkspaceOptions {
  /**
   * The folders that the agent may use. Relative paths start at the first one. They must exist.
   */
  readonly roots: readonly string[];
  /**
   * Every root must be in one of these folders. Set it if a root comes from a caller. By default
   * any folder may be a root.
   */
  readonly allowedRoots?: readonly string[];
}

/** A place in the workspace, which need not exist. */
export interface Place {
  /** The absolute path without links. */
  readonly path: string;
  /** The path for people and models: relative to the first root, or absolute outside of it. */
  readonly shown: string;
}

interface ResolveOptions {
  /** Whether the last component is resolved if it is a link. Default true. */
  readonly followLast?: boolean;
}

/** The longest path that is looked at, in characters. */
const MAX_PATH = 4096;

/**
 * The folders that the agent may use, and the only way from a path to a place in them. A path is
 * compared by the real path of its deepest existing ancestor, so links cannot lead outside. What is
 * then done with a place goes through `Folder`, which holds even if the path changes in between.
 *
 * Hard links cannot be told from the files themselves; writing replaces the file and leaves its
 * other names unchanged.
 */
export class Workspace {
  /** The real paths of the roots; relative paths start at the first one. */
  readonly roots: readonly [string, ...string[]];

  private constructor(roots: readonly [string, ...string[]]) {
    this.roots = roots;
  }

  static async open({ roots, allowedRoots }: WorkspaceOptions): Promise<Workspace> {
    const allowed = allowedRoots && (await Promise.all(allowedRoots.map(realFolder)));
    const [first, ...others] = await Promise.all(roots.map(realFolder));
    if (first === undefined) throw new WorkspaceError("roots: name at least one folder");
    const wrong = allowed && [first, ...others].find((root) => !isInAny(root, allowed));
    if (wrong !== undefined) {
      throw new WorkspaceError(`${wrong} is not in one of the allowed roots of this server`);
    }
    return new Workspace([first, ...others]);
  }

  get root(): string {
    return this.roots[0];
  }

  /** Finds the place that a path means, or throws a `WorkspaceError` that says what to change. */
  async resolve(path: string, { followLast = true }: ResolveOptions = {}): Promise<Place> {
    checkPath(path);
    const absolute = resolve(this.root, path);
    const real = await this.#real(absolute, path, followLast);
    if (!isInAny(real, this.roots)) throw this.#outside(path);
    return { path: real, shown: this.show(real) };
  }

  /**
   * The place of a path without following links, such as one found by walking the workspace. If
   * there is a link on the way after all, using the place fails.
   */
  placeAt(path: string): Place {
    const absolute = resolve(this.root, path);
    if (!isInAny(absolute, this.roots)) throw this.#outside(path);
    return { path: absolute, shown: this.show(absolute) };
  }

  /** The root that a place is in. */
  rootOf({ path, shown }: Place): string {
    const root = this.roots.find((one) => isIn(path, one));
    if (root === undefined) throw this.#outside(shown);
    return root;
  }

  /** A real path as people and models see it. */
  show(path: string): string {
    if (path === this.root) return ".";
    if (!isIn(path, this.root)) return path;
    return relative(this.root, path).split(sep).join("/");
  }

  isRoot({ path }: Place): boolean {
    return this.roots.includes(path);
  }

  async #real(absolute: string, given: string, followLast: boolean): Promise<string> {
    try {
      if (followLast || this.roots.includes(absolute)) return await deepestReal(absolute);
      return join(await deepestReal(dirname(absolute)), basename(absolute));
    } catch (error) {
      // Errors must not tell what exists outside the workspace.
      if (!isInAny(absolute, this.roots)) throw this.#outside(given);
      throw describeFailure(error, given);
    }
  }

  #outside(path: string): WorkspaceError {
    const roots = this.roots.join(", ");
    return new WorkspaceError(
      `${path} is outside the workspace (${roots}). Use a path inside it; links that lead out of it are not followed.`,
    );
  }
}

/** Whether a path is a folder or something inside it. Both must be absolute, without links. */
function isIn(path: string, folder: string): boolean {
  const rest = relative(folder, path);
  return rest === "" || (rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
}

function isInAny(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => isIn(path, folder));
}

function checkPath(path: string): void {
  if (path === "") throw new WorkspaceError('The path is empty; use "." for the workspace itself');
  if (path.includes("\0")) throw new WorkspaceError("A path cannot contain a NUL character");
  if (path.length > MAX_PATH) throw new WorkspaceError(`A path has at most ${MAX_PATH} characters`);
  // Node would write such characters as U+FFFD, which is the name of another file.
  if (!path.isWellFormed()) throw new WorkspaceError("The path is not valid Unicode");
}

/** The real path of the deepest existing ancestor, and the missing rest below it. */
async function deepestReal(absolute: string): Promise<string> {
  try {
    return await realpath(absolute);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
  if (await isLink(absolute)) {
    throw new WorkspaceError(`${basename(absolute)} is a link to something that does not exist`);
  }
  const parent = dirname(absolute);
  return join(parent === absolute ? parent : await deepestReal(parent), basename(absolute));
}

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
}

async function realFolder(path: string): Promise<string> {
  try {
    const real = await realpath(path);
    if ((await stat(real)).isDirectory()) return real;
  } catch (error) {
    throw describeFailure(error, path);
  }
  throw new WorkspaceError(`${path} is not a folder`);
}
