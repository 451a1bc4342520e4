import { existsSync } from "node:fs";
import { cp, mkdir, readFile, readdir, symlink } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { npm } from "./npm.ts";
import { succeed } from "../harness/program.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The folders that contain the workspaces, according to the root's package.json. */
const GROUPS = ["packages", "apps"];

/** The compiler of this repository. */
export const TSC = join(ROOT, "node_modules", "typescript", "bin", "tsc");

/**
 * Builds and packs everything that is published, and resolves to the tarballs. It works on a copy:
 * an earlier build in `dist` is not packed, and the working tree stays unchanged.
 */
export async function packWorkspaces(folder: string): Promise<readonly string[]> {
  const copy = copyIn(folder);
  const tarballs = join(folder, "tarballs");
  await mkdir(tarballs, { recursive: true });
  await copySources(copy);
  await linkDependencies(copy);
  await succeed(process.execPath, [TSC, "-b"], { cwd: copy });
  await npm(["run", "manifests"], copy);
  const published = (await workspaces(copy)).filter(({ isPrivate }) => !isPrivate);
  const folders = published.map((workspace) => workspace.folder);
  await npm(["pack", ...folders, "--pack-destination", tarballs], copy);
  return (await readdir(tarballs)).map((name) => join(tarballs, name));
}

/** The copy of the workspace in the folder of a test. */
export function copyIn(folder: string): string {
  return join(folder, "copy");
}

/** Only what a fresh clone has. */
async function copySources(copy: string): Promise<void> {
  const skipped = new Set(["node_modules", "dist", ".convoke"]);
  const files = ["package.json", "package-lock.json", "tsconfig.json", "tsconfig.base.json"];
  for (const name of [...GROUPS, ...files, ".changeset"]) {
    await cp(join(ROOT, name), join(copy, name), {
      recursive: true,
      filter: (path) => !skipped.has(basename(path)),
    });
  }
}

/**
 * Third-party packages come from the repository's `node_modules`; the workspaces are those of the
 * copy.
 */
async function linkDependencies(copy: string): Promise<void> {
  const own = await workspaces(copy);
  const ownNames = new Set(own.map(({ name }) => name.split("/")[0] ?? name));
  const modules = join(copy, "node_modules");
  await mkdir(modules);
  for (const name of await readdir(join(ROOT, "node_modules"))) {
    if (!ownNames.has(name)) await symlink(join(ROOT, "node_modules", name), join(modules, name));
  }
  for (const { name, folder } of own) {
    await mkdir(join(modules, name, ".."), { recursive: true });
    await symlink(folder, join(modules, name));
    // A workspace may need another version of a package than the others.
    const own = join(ROOT, relative(copy, folder), "node_modules");
    if (existsSync(own)) await symlink(own, join(folder, "node_modules"));
  }
}

interface Workspace {
  readonly folder: string;
  readonly name: string;
  readonly version: string;
  readonly isPrivate: boolean;
}

export async function workspaces(root: string): Promise<readonly Workspace[]> {
  const listed = await Promise.all(
    GROUPS.map(async (group) =>
      (await readdir(join(root, group))).map((name) => join(root, group, name)),
    ),
  );
  const folders = listed.flat().filter((folder) => existsSync(join(folder, "package.json")));
  return Promise.all(
    folders.map(async (folder) => {
      const file = await readFile(join(folder, "package.json"), "utf8");
      const facts = JSON.parse(file) as Pick<Workspace, "name" | "version"> & {
        readonly private?: boolean;
      };
      return { ...facts, folder, isPrivate: facts.private === true };
    }),
  );
}
