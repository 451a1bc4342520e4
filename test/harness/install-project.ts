import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { npm } from "../pack/npm.ts";

const CLEAN_INSTALL = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];

interface InstallOptions {
  /** Also installs optional packages. By default they are left out: most projects work without. */
  readonly keepsOptional?: boolean;
}

/**
 * Installs what is locked in a folder with a package.json of its own, unless it is there, so that
 * installing the workspace does not download it and no manual step is needed.
 */
export async function installProject(
  folder: string,
  { keepsOptional = false }: InstallOptions = {},
): Promise<void> {
  if (await isInstalled(folder)) return;
  const unlock = await lock(folder);
  try {
    // Another test file may have installed it meanwhile.
    if (!(await isInstalled(folder))) await install(folder, keepsOptional);
  } finally {
    await unlock();
  }
}

async function install(folder: string, keepsOptional: boolean): Promise<void> {
  const command = keepsOptional ? CLEAN_INSTALL : [...CLEAN_INSTALL, "--omit=optional"];
  try {
    await npm([...command, "--prefer-offline", "--fetch-retries=1"], folder);
  } catch (error) {
    throw new Error(
      `${folder} could not be installed. The first run needs the npm registry, later ones do not. ` +
        `By hand: "npm ${command.join(" ")}" in it`,
      { cause: error },
    );
  }
}

/** Test files run in processes of their own, and two installations in one folder destroy each other. */
async function lock(folder: string): Promise<() => Promise<void>> {
  const name = createHash("sha256").update(folder).digest("hex").slice(0, 16);
  const file = join(tmpdir(), `convoke-install-${name}`);
  for (;;) {
    try {
      await writeFile(file, String(process.pid), { flag: "wx" });
      return () => rm(file, { force: true });
    } catch {
      const holder = Number(await readFile(file, "utf8").catch(() => ""));
      if (holder > 0 && !isAlive(holder)) await rm(file, { force: true });
      await sleep(100);
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function isInstalled(folder: string): Promise<boolean> {
  // npm writes this file last: if it is missing, an installation was interrupted.
  if (!existsSync(join(folder, "node_modules", ".package-lock.json"))) return false;
  const { dependencies = {} } = await readManifest(folder);
  const versions = Object.entries(dependencies).map(async ([name, wanted]) => {
    const { version } = await readManifest(join(folder, "node_modules", ...name.split("/")));
    return version === wanted;
  });
  return (await Promise.all(versions)).every(Boolean);
}

interface Manifest {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, "package.json"), "utf8").catch(() => "{}");
  return JSON.parse(text) as Manifest;
}
