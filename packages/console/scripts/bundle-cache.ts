import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, statSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** Everything that a bundle is made of. */
const SOURCES = [
  "packages/console/{src/page,scripts}/**/*",
  "packages/{client,protocol}/{package.json,src/**/*.ts}",
  "package-lock.json",
];

let bundling: Promise<string> | undefined;

/** The folder with the bundle of the current sources. Bundles in another process if there is none. */
export function bundleOfSources(): Promise<string> {
  bundling ??= findOrBundle().finally(() => (bundling = undefined));
  return bundling;
}

async function findOrBundle(): Promise<string> {
  const name = fingerprint();
  const caches = [join(ROOT, "node_modules/.cache"), tmpdir()];
  const found = caches.map((cache) => join(cache, "convoke-console", name)).find(existsSync);
  return found ?? (await bundleInto(await firstWritable(caches), name));
}

/** Changes with the content of the sources, as far as their times and sizes show. */
function fingerprint(): string {
  const hash = createHash("sha256");
  for (const file of globSync(SOURCES, { cwd: ROOT }).toSorted()) {
    const { mtimeMs, size } = statSync(join(ROOT, file));
    hash.update(`${file}\n${mtimeMs}\n${size}\n`);
  }
  return hash.digest("hex").slice(0, 16);
}

/** How long another process may take to bundle the same sources before this one does it, too. */
const PATIENCE_MS = 60_000;

/** A bundle appears as a whole or not at all, and of several servers that start together one makes it. */
async function bundleInto(cache: string, name: string): Promise<string> {
  const folder = join(cache, name);
  const lock = `${folder}.lock`;
  const isFirst = await writeFile(lock, String(process.pid), { flag: "wx" }).then(
    () => true,
    () => false,
  );
  if (!isFirst) {
    const until = performance.now() + PATIENCE_MS;
    while ((await isHeld(lock)) && performance.now() < until) await sleep(50);
    if (existsSync(folder)) return folder;
  }
  try {
    await bundle(cache, folder);
    return folder;
  } finally {
    await rm(lock, { recursive: true, force: true });
  }
}

/** Whether the process with the lock still runs: one that was killed has left its lock behind. */
async function isHeld(lock: string): Promise<boolean> {
  const holder = await readFile(lock, "utf8").catch(() => undefined);
  if (holder === undefined) return false;
  try {
    // A process that has just created the file has not written its id yet.
    return holder === "" || process.kill(Number(holder), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function bundle(cache: string, folder: string): Promise<void> {
  const temporary = await mkdtemp(join(cache, "new-"));
  const script = fileURLToPath(new URL("build-page.ts", import.meta.url));
  await promisify(execFile)(process.execPath, [script, join(temporary, "page")]);
  await rename(join(temporary, "page"), folder).catch((error: NodeJS.ErrnoException) => {
    // Another server has bundled the same sources.
    if (!existsSync(folder)) throw error;
  });
  await rm(temporary, { recursive: true, force: true });
}

async function firstWritable(caches: readonly string[]): Promise<string> {
  const [cache, ...others] = caches;
  const folder = join(cache!, "convoke-console");
  try {
    await mkdir(folder, { recursive: true });
    await rm(await mkdtemp(join(folder, "new-")), { recursive: true });
    return folder;
  } catch (error) {
    if (others.length === 0) throw error;
    return firstWritable(others);
  }
}
