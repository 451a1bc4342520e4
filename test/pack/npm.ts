import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { succeed } from "../harness/program.ts";

/** Runs the npm of the environment. */
export function npm(args: readonly string[], cwd: string): Promise<string> {
  return succeed("npm", [...args, "--loglevel=error", "--no-update-notifier"], { cwd });
}

/** Installs packages into a folder that has nothing but a package.json. */
export async function installInto(folder: string, packages: readonly string[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, "package.json"),
    `${JSON.stringify({ private: true, type: "module" })}\n`,
  );
  const quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"];
  await npm(["install", "--prefer-offline", ...quiet, ...packages], folder);
}
