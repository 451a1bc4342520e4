import { readlinkSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";

/** Whether an absolute path fits a glob that is relative to a folder, or absolute. */
export function matchesPath(glob: string, path: string, folder: string): boolean {
  const absolute = isAbsolute(glob)
    ? glob
    : glob.startsWith("**")
      ? `/${glob}`
      : join(folder, glob);
  return globExpression(absolute).test(path.split(sep).join("/"));
}

/** `**` stands for any folders, `*` for any characters except `/`, `?` for one of them. */
function globExpression(glob: string): RegExp {
  const source = glob.replaceAll(/\/\*\*\/|\/\*\*$|\*\*|\*|\?|[.+^${}()|[\]\\]/g, (found) => {
    if (found === "/**/") return "/(?:.*/)?";
    if (found === "/**") return "(?:/.*)?";
    if (found === "**") return ".*";
    if (found === "*") return "[^/]*";
    return found === "?" ? "[^/]" : `\\${found}`;
  });
  // File systems may ignore case, so a rule does too: `.ENV` is the same file as `.env` there.
  return new RegExp(`^${source}$`, "is");
}

/** Whether a path is a folder or in it, by their real places: links are followed. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(realPlace(folder), realPlace(path));
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** How many links to files that do not exist are followed. */
const MAX_LINKS = 40;

/** The real path; for what does not exist yet, that of its nearest folder that does. */
export function realPlace(path: string, links = 0): string {
  try {
    return realpathSync.native(path);
  } catch {
    const target = linkTarget(path);
    if (target !== undefined && links < MAX_LINKS) {
      return realPlace(resolve(realPlace(dirname(path), links + 1), target), links + 1);
    }
    const parent = dirname(path);
    return parent === path ? path : join(realPlace(parent, links), path.slice(parent.length));
  }
}

/**
 * Every place that a path in a folder may lead to. `cd` in a shell takes `link/..` for the folder
 * of the link, but opening a file takes it for the folder above the link's target.
 */
export function placesOf(path: string, folder: string): readonly string[] {
  const named = resolve(folder, path);
  let opened = isAbsolute(path) ? "/" : realPlace(folder);
  for (const name of path.split("/")) opened = realPlace(join(opened, name));
  return [...new Set([named, realPlace(named), opened])];
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
