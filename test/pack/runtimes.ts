import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { installInto } from "./npm.ts";
import { succeed } from "../harness/program.ts";

/** The supported lines of Node beside the one that runs the tests, at their newest versions. */
export const OTHER_SUPPORTED: readonly string[] = ["22.23.3", "26.10.0"];

/** A line of Node that is too old. */
const TOO_OLD = "20.20.2";

/** npm has bare Node binaries for these platforms only. */
export const hasPackagedNode =
  process.platform === "linux" && (process.arch === "x64" || process.arch === "arm64");

/** Gets a version of Node: a bare binary from npm, without scripts, in its own folder. */
export async function getNode(version: string, folder: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`;
  const into = join(folder, `node-${version}`);
  await installInto(into, [`${name}@${version}`]);
  return join(into, "node_modules", name, "bin", "node");
}

/** A Node that is too old: the machine's own if it has one, else one from npm. */
export async function getTooOldNode(folder: string): Promise<string | undefined> {
  const paths = (process.env["PATH"] ?? "").split(delimiter).map((path) => join(path, "node"));
  for (const path of new Set(paths)) {
    if (!existsSync(path)) continue;
    const version = await succeed(path, ["--version"], { cwd: folder });
    if (Number(/^v(\d+)/.exec(version)?.[1]) < 22) return path;
  }
  return hasPackagedNode ? getNode(TOO_OLD, folder) : undefined;
}

/** A runtime other than Node, as npm packages its binary for Linux on x64. */
export interface OtherRuntime {
  readonly name: string;
  readonly npmPackage: string;
  readonly version: string;
  /** The binary in the package. */
  readonly binary: string;
  /** The arguments before the name of a script. */
  readonly args: readonly string[];
  /** Where it can store tasks: docs/guide/runtimes.md says why. */
  readonly stores: readonly ("memory" | "folder")[];
}

export const OTHER_RUNTIMES: readonly OtherRuntime[] = [
  {
    name: "Bun",
    npmPackage: "@oven/bun-linux-x64",
    version: "1.4.4",
    binary: "bin/bun",
    args: [],
    stores: ["memory", "folder"],
  },
  {
    name: "Deno",
    npmPackage: "@deno/linux-x64-glibc",
    version: "2.9.6",
    binary: "deno",
    args: ["run", "--allow-all"],
    stores: ["memory"],
  },
];

/** Gets the binary of a runtime. */
export async function getRuntime(runtime: OtherRuntime, folder: string): Promise<string> {
  const { npmPackage, version, binary } = runtime;
  const into = join(folder, `${runtime.name}-${version}`);
  await installInto(into, [`${npmPackage}@${version}`]);
  return join(into, "node_modules", npmPackage, binary);
}
