import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { npm } from "../../pack/npm.ts";

/** A separate project, so that installing the workspace does not download it. */
const FOLDER = import.meta.dirname;
const NAME = "@google/gemini-cli";
const PACKAGE = join(FOLDER, "node_modules", ...NAME.split("/"));

/**
 * The optional dependencies are native modules for a terminal and a key ring; headless, it needs
 * neither.
 */
const CLEAN_INSTALL = ["ci", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund"];

/**
 * The real Gemini CLI, in the version that is locked here. If it is missing it is installed, so
 * that no manual step is needed and no test is skipped. Resolves to the program's file.
 */
export async function installGemini(): Promise<string> {
  if (!(await isInstalled())) {
    try {
      await npm([...CLEAN_INSTALL, "--prefer-offline", "--fetch-retries=1"], FOLDER);
    } catch (error) {
      throw new Error(
        `${NAME} could not be installed. The first run needs the npm registry, later ones do not. ` +
          `By hand: "npm ci --omit=optional" in ${FOLDER}`,
        { cause: error },
      );
    }
  }
  return join(PACKAGE, "bundle", "gemini.js");
}

async function isInstalled(): Promise<boolean> {
  // npm writes this file last: if it is missing, an installation was interrupted.
  if (!existsSync(join(FOLDER, "node_modules", ".package-lock.json"))) return false;
  const installed = await readManifest(PACKAGE);
  const wanted = await readManifest(FOLDER);
  return installed.version === wanted.dependencies?.[NAME];
}

interface Manifest {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

async function readManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;
}
