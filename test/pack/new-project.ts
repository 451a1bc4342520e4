import { connect } from "convoke";
import { join } from "node:path";
import { readFile, symlink } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { npm } from "./npm.ts";
import { start, succeed } from "../harness/program.ts";

export interface NewProjectOptions {
  /** The installed `convoke`. */
  readonly convoke: string;
  readonly folder: string;
  readonly template: string;
}

/** Runs `convoke init`. */
export async function initProject({ convoke, folder, template }: NewProjectOptions): Promise<void> {
  await succeed(convoke, ["init", folder, "--template", template], { cwd: join(folder, "..") });
}

/**
 * Runs `npm install` in a new project. The own packages are not in a registry, so their tarballs
 * are named.
 */
export async function installProject(folder: string, tarballs: readonly string[]): Promise<void> {
  await npm(["install", "--prefer-offline", "--no-audit", "--no-fund", ...tarballs], folder);
}

/** Uses the installed packages of another project, which needs the same ones. */
export async function shareModules(from: string, to: string): Promise<void> {
  const [installed, wanted] = await Promise.all([manifestOf(from), manifestOf(to)]);
  if (!isDeepStrictEqual(installed.devDependencies, wanted.devDependencies)) {
    throw new Error(`${to} needs other packages than ${from}.`);
  }
  await symlink(join(from, "node_modules"), join(to, "node_modules"));
}

/** An answer of a project's agent. */
export interface StreamedAnswer {
  readonly text: string;
  readonly chunks: number;
}

/** Serves the project and streams an answer. */
export async function streamFrom(folder: string, message: string): Promise<StreamedAnswer> {
  const { scripts } = await manifestOf(folder);
  // As `npm start` does, but signals reach the server.
  const line = `PATH="node_modules/.bin:$PATH" exec ${scripts.start}`;
  const program = start("sh", ["-c", line], { cwd: folder, env: { PORT: "0" } });
  const url = await program.until((stdout) => /http:\/\/[\d.]+:\d+/.exec(stdout)?.[0]);
  const chunks: string[] = [];
  for await (const delta of (await connect(url)).stream(message).text) chunks.push(delta);
  return { text: chunks.join(""), chunks: chunks.length };
}

interface Manifest {
  readonly scripts: { readonly start: string };
  readonly devDependencies: Readonly<Record<string, string>>;
}

async function manifestOf(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;
}
